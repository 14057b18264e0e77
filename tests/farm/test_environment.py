"""What workers inherit."""

from r3cc.farm.process import harmless_environment


def test_keys_do_not_reach_workers(monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "R3_LLM_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "MINE"):
        monkeypatch.setenv(name, "s3cret")
    monkeypatch.setenv("R3_CPU_THREADS", "2")
    found = harmless_environment()
    assert "s3cret" not in found.values()
    assert found["R3_CPU_THREADS"] == "2" and "PATH" in found
