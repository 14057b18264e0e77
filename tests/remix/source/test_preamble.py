"""Which part of a source a precompiled preamble may hold, and what messages may say."""

from __future__ import annotations

import pytest

from r3cc.remix.source.callees import call_graph
from r3cc.remix.source.handoff import Handoff, _encode, _records
from r3cc.remix.source.messages import failure, without_paths
from r3cc.remix.source.preamble import preamble_size
from r3cc.remix.source.sandbox import Finished

HEAD = '// why\n#include <a.h>\n#include "b.h"\n'


@pytest.mark.parametrize(
    ("text", "held"),
    [
        (HEAD + "int x;\n#include <c.h>\n", HEAD),
        (HEAD + "#define M \\\n  1\nint x;\n", HEAD),
        (HEAD + "#if X\n#include <c.h>\n#endif\nint x;\n", HEAD + "#if X\n#include <c.h>\n#endif\n"),
        (HEAD + "#if X\n#include <c.h>\nint y;\n#endif\n", HEAD),
        ("#ifndef GUARD\n#define GUARD\n#include <a.h>\nint x;\n#endif\n", ""),
        ("int x;\n", ""),
        ("", ""),
        ("#include <a.h>", ""),
    ],
)
def test_a_preamble_ends_behind_the_last_include_before_code(text, held):
    assert text[: preamble_size(text.encode(), own_headers=True)] == held


def test_a_preamble_without_own_headers_ends_before_them():
    assert preamble_size(HEAD.encode(), own_headers=False) == HEAD.index('#include "b.h"')


def test_messages_name_files_not_folders():
    said = "'/home/someone/project/src/app.cu:12' does not match /usr/include/c++/12/cmath"
    assert without_paths(said) == "'app.cu:12' does not match cmath"
    run = Finished(1, "/home/x/y/k.cu:3:4: error: no member in '/home/x/y/k.h'\n", timed_out=False)
    found = failure(run, ())
    assert found.reason == "compile_error" and "/" not in found.message


def test_a_damaged_hand_off_ends_where_the_damage_is():
    good = _encode(1, ["/folder", "clang++", "ü"])
    assert [kind for kind, _ in _records(good + good)] == [1, 1]
    assert next(iter(_records(good)))[1][2] == "ü".encode()
    for cut in range(len(good)):
        assert len(list(_records(good + good[:cut]))) == 1
    with Handoff("/folder", ["clang++"]) as handoff:
        assert handoff.module() is None


def test_a_call_graph_is_read_from_text():
    graph = call_graph(
        """
define dso_local ptx_kernel void @k(ptr noundef %x) #0 !dbg !5 {
  call void @f(ptr @table), !dbg !9
  call void @"odd name"()
  ret void
}
define internal void @f(ptr %x) #0 !dbg !6 {
  call void @k2()
  ret void
}
define void @"odd name"() {
  ret void
}
define void @unused() !dbg !7 {
  ret void
}
!5 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 12, unit: !0)
!6 = distinct !DISubprogram(name: "f<1>", linkageName: "f", scope: !1, file: !2, line: 3, unit: !0)
!1 = !DIFile(filename: "a.cu", directory: "/folder")
!2 = !DIFile(filename: "./b\\20c.h", directory: "/folder", checksumkind: CSK_MD5, checksum: "0")
"""
    )
    assert list(graph.reached_from("k")) == ["k", "f", "odd name"]
    assert (graph.places["k"].path, graph.places["k"].line) == ("a.cu", 12)
    assert graph.places["f"].path == "./b c.h" and "odd name" not in graph.places
