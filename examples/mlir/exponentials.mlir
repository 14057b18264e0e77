// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel as an MLIR compiler makes it: out[i] is scale times the sum of exp over eight neighbours from i on.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @exponentials(%in: memref<?xf32>, %out: memref<?xf32>, %scale: f32) kernel {
      %block = gpu.block_id x
      %size = gpu.block_dim x
      %thread = gpu.thread_id x
      %first = arith.muli %block, %size : index
      %i = arith.addi %first, %thread : index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %n = memref.dim %in, %c0 : memref<?xf32>
      %last = arith.subi %n, %c1 : index
      %inside = arith.cmpi ult, %i, %n : index
      scf.if %inside {
        %zero = arith.constant 0.0 : f32
        %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%so_far = %zero) -> (f32) {
          %beyond = arith.addi %i, %k : index
          %j = arith.minui %beyond, %last : index
          %x = memref.load %in[%j] : memref<?xf32>
          %e = math.exp %x : f32
          %next = arith.addf %so_far, %e : f32
          scf.yield %next : f32
        }
        %scaled = arith.mulf %sum, %scale : f32
        memref.store %scaled, %out[%i] : memref<?xf32>
      }
      gpu.return
    }
  }
}
