; A chain of aliases that begins before what it leads to, and an answer that one instruction uses twice.
target triple = "nvptx64-nvidia-cuda"
@ftz = private constant [11 x i8] c"__CUDA_FTZ\00"
@second = alias i32 (i32), ptr @first
@first = alias i32 (i32), ptr @twice
declare i32 @__nvvm_reflect(ptr)
define i32 @twice(i32 %x) {
  %y = shl i32 %x, 1
  ret i32 %y
}
define ptx_kernel void @kernel(ptr %p, i1 %c) {
entry:
  %ftz = call i32 @__nvvm_reflect(ptr @ftz)
  br i1 %c, label %one, label %two
one:
  br label %end
two:
  br label %end
end:
  %both = phi i32 [ %ftz, %one ], [ %ftz, %two ]
  %y = call i32 @second(i32 7)
  %z = add i32 %y, %both
  store i32 %z, ptr %p
  ret void
}
