import pytest

from r3cc.store.demangle import base_name, demangle


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


def test_a_second_version_of_a_tuned_build_bears_its_kernels_name() -> None:
    name = demangle("_Z4stepPd__r3_0123456789ab")
    assert name == "step(double*) [specialised]"
    assert base_name(name) == "step [specialised]"
    assert demangle("_Z4stepPd__r3_0123") == "_Z4stepPd__r3_0123"
