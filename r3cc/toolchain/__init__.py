"""Finding clang, LLVM, CUDA and ROCm, and R3's own native parts."""
