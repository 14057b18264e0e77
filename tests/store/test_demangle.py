import pytest

from r3cc.store.demangle import base_name


@pytest.mark.parametrize(
    ("demangled", "base"),
    [
        ("saxpy(int, float*)", "saxpy"),
        ("void ns::step<int>(double*, int)", "ns::step<int>"),
        ("(anonymous namespace)::k(int)", "(anonymous namespace)::k"),
        ("void k<main::{lambda(int)#1}>(int, main::{lambda(int)#1})", "k<main::{lambda(int)#1}>"),
        ("void f<void (*)(int)>(int)", "f<void (*)(int)>"),
        ("_Z3x", "_Z3x"),
        ("plain", "plain"),
    ],
)
def test_a_base_name_has_neither_parameters_nor_return_type(demangled, base):
    assert base_name(demangled) == base
