import pytest

from r3cc.store.demangle import LONGEST_LABEL, base_name, demangle, label, shorten
from r3cc.toolchain.llvm import find_llvm_program


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


def test_a_label_leaves_long_lists_of_parameters_out() -> None:
    body = f"advec({', '.join(['ns::Buffer2D<double>&'] * 20)})::{{lambda(int, int)#2}}"
    kernel = f"void ns::launch<{body}>(ns::Range, {body})"
    assert label(kernel) == "ns::launch<advec(…)::{lambda(int, int)#2}>"
    assert shorten("step(double*, int)") == "step(double*, int)"
    assert shorten("(anonymous namespace)::k(int)") == "(anonymous namespace)::k(int)"


def test_a_long_label_has_no_namespaces() -> None:
    both = "portable::detail::Both<squares, portable::Analysis<portable::Device>>"
    loop = f"portable::detail::Reduce<{both}, portable::Range>"
    kernel = f"void portable::detail::launch<{loop}, portable::Device, portable::Bounds<256u>>({loop} const)"
    assert label(kernel) == "launch<Reduce<Both<squares, Analysis<Device>>, Range>, Device, Bounds<256u>>"


def test_a_label_is_cut_where_it_is_still_long() -> None:
    kernel = f"void agent<functor, {'policy<' * 100}tuning{'>' * 100}>(int)"
    short = label(kernel)
    assert len(short) == LONGEST_LABEL
    assert short.startswith("agent<functor, policy<") and short.endswith(">>")


@pytest.mark.skipif(find_llvm_program("llvm-cxxfilt") is None, reason="needs LLVM's demangler")
def test_constrained_templates_are_demangled_by_any_c_plus_plus_runtime() -> None:
    # template <typename T, std::enable_if_t<(sizeof(T) > 2), int> N> __global__ void step(T *), as clang 22 writes it
    assert demangle("_Z4stepIiTnNSt9enable_ifIXgtstT_Li2EEiE4typeELi3EEvPS1_") == "void step<int, 3>(int*)"
    assert demangle("_Z4nameThatNobodyMangled") == "_Z4nameThatNobodyMangled"


@pytest.mark.parametrize("mark", [".intern.1fb4bb19c476302c", "__intern__1fb4bb19c476302c"])
def test_private_kernels_of_relocatable_code_are_demangled(mark: str) -> None:
    assert demangle(f"_ZN12_GLOBAL__N_14stepEv{mark}") == "(anonymous namespace)::step()"
