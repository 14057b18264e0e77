"""Places in the source, read from LLVM's text."""

from __future__ import annotations

from r3cc.remix.source.callees import Place, call_graph

IR = r"""
define dso_local void @k(ptr %0) !dbg !3 {
  ret void
}
!1 = !DIFile(filename: "W\C3\A4rme fluss/\22k\22.cu", directory: "/home/\C3\BC")
!3 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 7)
"""


def test_paths_beyond_ascii() -> None:
    assert call_graph(IR).places == {"k": Place('Wärme fluss/"k".cu', "/home/ü", 7)}
