"""The walls around the compiler hold even for text that the rules would have let through."""

from __future__ import annotations

import os

import pytest

from r3cc.remix.source.messages import failure
from r3cc.remix.source.sandbox import Limits, Sandbox, confinement
from tests.remix.source.project import built

walls = pytest.mark.skipif(confinement() is None, reason="bubblewrap is not here or may not make namespaces")


def run(tmp_path, command, limits=Limits(), readable=(), environment=None):  # noqa: B008
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    fd = os.memfd_create("test")
    try:
        sandbox = Sandbox(readable, (tmp_path / "tree",), limits)
        (tmp_path / "tree").mkdir(exist_ok=True)
        done = sandbox.run(["/bin/sh", "-c", command], tmp_path / "tree", scratch, environment or {}, fd)
        return done, os.pread(fd, 1 << 20, 0), fd
    finally:
        os.close(fd)


def say(command):
    """Let a shell say on standard error, which is kept."""
    return f"{{ {command}; }} >&2"


@walls
def test_only_what_is_readable_can_be_read(tmp_path):
    secret, allowed = tmp_path / "secret", tmp_path / "allowed"
    secret.write_text("s3cret")
    allowed.write_text("welcome")
    done, _, _ = run(tmp_path, say(f"cat {secret} {allowed}"), readable=(allowed,))
    assert "welcome" in done.messages and "s3cret" not in done.messages
    done, _, _ = run(tmp_path, say(f"echo more > {allowed}"), readable=(allowed,))
    assert done.status != 0 and allowed.read_text() == "welcome"


@walls
def test_there_is_no_network_and_no_other_process(tmp_path):
    done, _, _ = run(tmp_path, say("cat /proc/net/dev"))
    interfaces = [line.split(":")[0].strip() for line in done.messages.splitlines() if ":" in line]
    assert interfaces in ([], ["lo"])
    done, _, _ = run(tmp_path, say("ls /proc"))
    assert sum(line.isdigit() for line in done.messages.split()) < 8


def test_the_environment_is_empty(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "s3cret")
    done, _, _ = run(tmp_path, say("env"), environment={"LANG": "C"})
    assert "s3cret" not in done.messages and "LANG=C" in done.messages


@walls
def test_a_compiler_from_a_sites_module_finds_its_libraries(tmp_path, monkeypatch):
    module = tmp_path / "module"
    module.mkdir()
    (module / "notes").write_text("found")
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{module}:relative:")
    done, _, _ = run(tmp_path, say('echo "$LD_LIBRARY_PATH"; cat "$LD_LIBRARY_PATH/notes"'))
    assert done.messages.split() == [str(module), "found"]


def test_time_memory_and_output_are_limited(tmp_path):
    assert run(tmp_path, "sleep 60", Limits(wall_s=0.5))[0].timed_out
    done, _, _ = run(tmp_path, "while :; do :; done", Limits(cpu_s=1))
    assert not done.timed_out and failure(done, ()).reason == "compile_time"
    done, _, _ = run(tmp_path, "exec head -c 100000000 /dev/zero > ../scratch/big", Limits(output=1 << 16))
    assert done.status != 0
    assert (tmp_path / "scratch" / "big").stat().st_size <= 1 << 16
    done, _, _ = run(tmp_path, say("ulimit -v"), Limits(memory=1 << 30))
    assert done.messages.strip() == str(1 << 20)


@pytest.mark.skipif(not built(), reason="r3-clang++ and libR3Passes.so are not built")
class TestCompiler:
    """Text that goes to the compiler without the rules."""

    def compile(self, builder, text):
        opened = builder("plain")
        path = next(each.path for each in opened.source.regions if each.kernel)
        return opened._module.compile("plain", {opened._real[path]: opened._files[path] + text.encode()})

    @walls
    def test_it_cannot_include_what_is_not_part_of_the_build(self, builder, tmp_path):
        (tmp_path / "secret.h").write_text("#error s3cret\n")
        for path in (tmp_path / "secret.h", "/etc/passwd", "/proc/1/environ"):
            compiled = self.compile(builder, f'\n#include "{path}"\n')
            assert "s3cret" not in compiled.run.messages
            if "proc" not in str(path):  # a file of size 0 to the compiler
                assert compiled.module is None and "file not found" in compiled.run.messages

    def test_endless_work_in_the_compiler_ends(self, builder):
        text = "\ntemplate <int N> struct D { D<N - 1> a; D<N - 2> b; static constexpr int v = decltype(a)::v; };\n"
        compiled = self.compile(builder, text + "D<900> deep;\n")
        assert compiled.module is None and failure(compiled.run, ()).stage == "compile"
