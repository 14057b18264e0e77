target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@_ZZ1kPfPKfiiE1s = internal addrspace(3) global [256 x float] undef, align 4

; Function Attrs: convergent mustprogress nounwind
define dso_local noundef float @_Z1gfi(float noundef %0, i32 noundef %1) #0 {
  %3 = alloca float, align 4
  %4 = alloca i32, align 4
  store float %0, ptr %3, align 4, !tbaa !8
  store i32 %1, ptr %4, align 4, !tbaa !4
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = icmp sgt i32 %5, 2
  br i1 %6, label %7, label %12

7:                                                ; preds = %2
  %8 = load float, ptr %3, align 4, !tbaa !8
  %9 = load float, ptr %3, align 4, !tbaa !8
  %10 = fmul contract float %8, %9
  %11 = fadd contract float %10, 1.000000e+00
  br label %15

12:                                               ; preds = %2
  %13 = load float, ptr %3, align 4, !tbaa !8
  %14 = fsub contract float %13, 2.000000e+00
  br label %15

15:                                               ; preds = %12, %7
  %16 = phi contract float [ %11, %7 ], [ %14, %12 ]
  ret float %16
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @_Z1kPfPKfii(ptr noundef %0, ptr noundef %1, i32 noundef %2, i32 noundef %3) #1 {
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca i32, align 4
  %8 = alloca i32, align 4
  %9 = alloca i32, align 4
  %10 = alloca float, align 4
  %11 = alloca i32, align 4
  %12 = alloca i32, align 4
  store ptr %0, ptr %5, align 8, !tbaa !10
  store ptr %1, ptr %6, align 8, !tbaa !10
  store i32 %2, ptr %7, align 4, !tbaa !4
  store i32 %3, ptr %8, align 4, !tbaa !4
  call void @llvm.lifetime.start.p0(ptr %9) #5
  %13 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %14 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %15 = mul nsw i32 %13, %14
  %16 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %17 = add nsw i32 %15, %16
  store i32 %17, ptr %9, align 4, !tbaa !4
  %18 = load i32, ptr %9, align 4, !tbaa !4
  %19 = load i32, ptr %7, align 4, !tbaa !4
  %20 = icmp slt i32 %18, %19
  br i1 %20, label %21, label %27

21:                                               ; preds = %4
  %22 = load ptr, ptr %6, align 8, !tbaa !10
  %23 = load i32, ptr %9, align 4, !tbaa !4
  %24 = sext i32 %23 to i64
  %25 = getelementptr inbounds float, ptr %22, i64 %24
  %26 = load float, ptr %25, align 4, !tbaa !8
  br label %28

27:                                               ; preds = %4
  br label %28

28:                                               ; preds = %27, %21
  %29 = phi contract float [ %26, %21 ], [ 0.000000e+00, %27 ]
  %30 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %31 = sext i32 %30 to i64
  %32 = getelementptr inbounds [256 x float], ptr addrspacecast (ptr addrspace(3) @_ZZ1kPfPKfiiE1s to ptr), i64 0, i64 %31
  store float %29, ptr %32, align 4, !tbaa !8
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %33 = load i32, ptr %9, align 4, !tbaa !4
  %34 = load i32, ptr %7, align 4, !tbaa !4
  %35 = icmp slt i32 %33, %34
  br i1 %35, label %36, label %112

36:                                               ; preds = %28
  call void @llvm.lifetime.start.p0(ptr %10) #5
  store float 0.000000e+00, ptr %10, align 4, !tbaa !8
  call void @llvm.lifetime.start.p0(ptr %11) #5
  store i32 0, ptr %11, align 4, !tbaa !4
  br label %37

37:                                               ; preds = %66, %36
  %38 = load i32, ptr %11, align 4, !tbaa !4
  %39 = load i32, ptr %8, align 4, !tbaa !4
  %40 = icmp slt i32 %38, %39
  br i1 %40, label %42, label %41

41:                                               ; preds = %37
  call void @llvm.lifetime.end.p0(ptr %11) #5
  br label %69

42:                                               ; preds = %37
  %43 = load ptr, ptr %6, align 8, !tbaa !10
  %44 = load i32, ptr %9, align 4, !tbaa !4
  %45 = load i32, ptr %8, align 4, !tbaa !4
  %46 = mul nsw i32 %44, %45
  %47 = load i32, ptr %11, align 4, !tbaa !4
  %48 = add nsw i32 %46, %47
  %49 = sext i32 %48 to i64
  %50 = getelementptr inbounds float, ptr %43, i64 %49
  %51 = load float, ptr %50, align 4, !tbaa !8
  %52 = load i32, ptr %11, align 4, !tbaa !4
  %53 = call contract noundef float @_Z1gfi(float noundef %51, i32 noundef %52) #6
  %54 = load i32, ptr %11, align 4, !tbaa !4
  %55 = and i32 %54, 255
  %56 = sext i32 %55 to i64
  %57 = getelementptr inbounds [256 x float], ptr addrspacecast (ptr addrspace(3) @_ZZ1kPfPKfiiE1s to ptr), i64 0, i64 %56
  %58 = load float, ptr %57, align 4, !tbaa !8
  %59 = fmul contract float %53, %58
  %60 = load float, ptr %10, align 4, !tbaa !8
  %61 = fadd contract float %60, %59
  store float %61, ptr %10, align 4, !tbaa !8
  %62 = load float, ptr %10, align 4, !tbaa !8
  %63 = fcmp contract ogt float %62, 0x46293E5940000000
  br i1 %63, label %64, label %65

64:                                               ; preds = %42
  store float 0.000000e+00, ptr %10, align 4, !tbaa !8
  br label %65

65:                                               ; preds = %64, %42
  br label %66

66:                                               ; preds = %65
  %67 = load i32, ptr %11, align 4, !tbaa !4
  %68 = add nsw i32 %67, 1
  store i32 %68, ptr %11, align 4, !tbaa !4
  br label %37, !llvm.loop !13

69:                                               ; preds = %41
  call void @llvm.lifetime.start.p0(ptr %12) #5
  store i32 0, ptr %12, align 4, !tbaa !4
  br label %70

70:                                               ; preds = %108, %69
  %71 = load i32, ptr %12, align 4, !tbaa !4
  %72 = icmp slt i32 %71, 8
  br i1 %72, label %74, label %73

73:                                               ; preds = %70
  call void @llvm.lifetime.end.p0(ptr %12) #5
  br label %111

74:                                               ; preds = %70
  %75 = load i32, ptr %12, align 4, !tbaa !4
  %76 = and i32 %75, 3
  switch i32 %76, label %86 [
    i32 0, label %77
    i32 1, label %80
    i32 2, label %83
  ]

77:                                               ; preds = %74
  %78 = load float, ptr %10, align 4, !tbaa !8
  %79 = fmul contract float %78, 2.000000e+00
  store float %79, ptr %10, align 4, !tbaa !8
  br label %96

80:                                               ; preds = %74
  %81 = load float, ptr %10, align 4, !tbaa !8
  %82 = fsub contract float %81, 3.000000e+00
  store float %82, ptr %10, align 4, !tbaa !8
  br label %96

83:                                               ; preds = %74
  %84 = load float, ptr %10, align 4, !tbaa !8
  %85 = fdiv contract float %84, 3.000000e+00
  store float %85, ptr %10, align 4, !tbaa !8
  br label %96

86:                                               ; preds = %74
  %87 = load ptr, ptr %6, align 8, !tbaa !10
  %88 = load i32, ptr %12, align 4, !tbaa !4
  %89 = load i32, ptr %8, align 4, !tbaa !4
  %90 = mul nsw i32 %88, %89
  %91 = sext i32 %90 to i64
  %92 = getelementptr inbounds float, ptr %87, i64 %91
  %93 = load float, ptr %92, align 4, !tbaa !8
  %94 = load float, ptr %10, align 4, !tbaa !8
  %95 = fadd contract float %94, %93
  store float %95, ptr %10, align 4, !tbaa !8
  br label %96

96:                                               ; preds = %86, %83, %80, %77
  %97 = load float, ptr %10, align 4, !tbaa !8
  %98 = load i32, ptr %12, align 4, !tbaa !4
  %99 = sitofp i32 %98 to float
  %100 = fmul contract float %97, %99
  %101 = load ptr, ptr %5, align 8, !tbaa !10
  %102 = load i32, ptr %9, align 4, !tbaa !4
  %103 = mul nsw i32 %102, 8
  %104 = load i32, ptr %12, align 4, !tbaa !4
  %105 = add nsw i32 %103, %104
  %106 = sext i32 %105 to i64
  %107 = getelementptr inbounds float, ptr %101, i64 %106
  store float %100, ptr %107, align 4, !tbaa !8
  br label %108

108:                                              ; preds = %96
  %109 = load i32, ptr %12, align 4, !tbaa !4
  %110 = add nsw i32 %109, 1
  store i32 %110, ptr %12, align 4, !tbaa !4
  br label %70, !llvm.loop !15

111:                                              ; preds = %73
  call void @llvm.lifetime.end.p0(ptr %10) #5
  br label %112

112:                                              ; preds = %111, %28
  call void @llvm.lifetime.end.p0(ptr %9) #5
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(ptr captures(none)) #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #3

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 1, 1025) i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #3

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #3

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #4

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(ptr captures(none)) #2

attributes #0 = { convergent mustprogress nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #1 = { convergent mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #3 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #4 = { convergent nocallback nounwind }
attributes #5 = { nounwind }
attributes #6 = { convergent nounwind }

!llvm.module.flags = !{!0, !1, !2}
!llvm.ident = !{!3}
!llvm.errno.tbaa = !{!4}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
!2 = !{i32 7, !"frame-pointer", i32 2}
!3 = !{!"Debian clang version 22.1.8 (1~deb12u1)"}
!4 = !{!5, !5, i64 0}
!5 = !{!"int", !6, i64 0}
!6 = !{!"omnipotent char", !7, i64 0}
!7 = !{!"Simple C++ TBAA"}
!8 = !{!9, !9, i64 0}
!9 = !{!"float", !6, i64 0}
!10 = !{!11, !11, i64 0}
!11 = !{!"p1 float", !12, i64 0}
!12 = !{!"any pointer", !6, i64 0}
!13 = distinct !{!13, !14}
!14 = !{!"llvm.loop.mustprogress"}
!15 = distinct !{!15, !14}
