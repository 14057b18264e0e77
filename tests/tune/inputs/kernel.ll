target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@_ZZ6kernelPfPKfS1_iiE4tile = internal addrspace(3) global [256 x float] undef, align 4

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @_Z6kernelPfPKfS1_ii(ptr noalias noundef %0, ptr noalias noundef %1, ptr noalias noundef %2, i32 noundef %3, i32 noundef %4) #0 {
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca i32, align 4
  %10 = alloca i32, align 4
  %11 = alloca i32, align 4
  %12 = alloca i32, align 4
  %13 = alloca i32, align 4
  %14 = alloca float, align 4
  %15 = alloca i32, align 4
  %16 = alloca ptr, align 8
  %17 = alloca ptr, align 8
  %18 = alloca i32, align 4
  store ptr %0, ptr %6, align 8, !tbaa !8
  store ptr %1, ptr %7, align 8, !tbaa !8
  store ptr %2, ptr %8, align 8, !tbaa !8
  store i32 %3, ptr %9, align 4, !tbaa !4
  store i32 %4, ptr %10, align 4, !tbaa !4
  call void @llvm.lifetime.start.p0(ptr %11) #7
  %19 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %19, ptr %11, align 4, !tbaa !4
  call void @llvm.lifetime.start.p0(ptr %12) #7
  %20 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %21 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %22 = mul nsw i32 %20, %21
  %23 = load i32, ptr %11, align 4, !tbaa !4
  %24 = add nsw i32 %22, %23
  store i32 %24, ptr %12, align 4, !tbaa !4
  %25 = load i32, ptr %12, align 4, !tbaa !4
  %26 = load i32, ptr %9, align 4, !tbaa !4
  %27 = icmp slt i32 %25, %26
  br i1 %27, label %28, label %34

28:                                               ; preds = %5
  %29 = load ptr, ptr %7, align 8, !tbaa !8
  %30 = load i32, ptr %12, align 4, !tbaa !4
  %31 = sext i32 %30 to i64
  %32 = getelementptr inbounds float, ptr %29, i64 %31
  %33 = load float, ptr %32, align 4, !tbaa !11
  br label %35

34:                                               ; preds = %5
  br label %35

35:                                               ; preds = %34, %28
  %36 = phi contract float [ %33, %28 ], [ 0.000000e+00, %34 ]
  %37 = load i32, ptr %11, align 4, !tbaa !4
  %38 = and i32 %37, 255
  %39 = sext i32 %38 to i64
  %40 = getelementptr inbounds [256 x float], ptr addrspacecast (ptr addrspace(3) @_ZZ6kernelPfPKfS1_iiE4tile to ptr), i64 0, i64 %39
  store float %36, ptr %40, align 4, !tbaa !11
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %41 = load i32, ptr %12, align 4, !tbaa !4
  %42 = load i32, ptr %9, align 4, !tbaa !4
  %43 = icmp sge i32 %41, %42
  br i1 %43, label %44, label %45

44:                                               ; preds = %35
  store i32 1, ptr %13, align 4
  br label %135

45:                                               ; preds = %35
  call void @llvm.lifetime.start.p0(ptr %14) #7
  store float 0.000000e+00, ptr %14, align 4, !tbaa !11
  call void @llvm.lifetime.start.p0(ptr %15) #7
  store i32 0, ptr %15, align 4, !tbaa !4
  br label %46

46:                                               ; preds = %71, %45
  %47 = load i32, ptr %15, align 4, !tbaa !4
  %48 = load i32, ptr %10, align 4, !tbaa !4
  %49 = icmp slt i32 %47, %48
  br i1 %49, label %51, label %50

50:                                               ; preds = %46
  store i32 2, ptr %13, align 4
  call void @llvm.lifetime.end.p0(ptr %15) #7
  br label %74

51:                                               ; preds = %46
  %52 = load ptr, ptr %8, align 8, !tbaa !8
  %53 = load i32, ptr %12, align 4, !tbaa !4
  %54 = load i32, ptr %15, align 4, !tbaa !4
  %55 = load i32, ptr %9, align 4, !tbaa !4
  %56 = mul nsw i32 %54, %55
  %57 = add nsw i32 %53, %56
  %58 = sext i32 %57 to i64
  %59 = getelementptr inbounds float, ptr %52, i64 %58
  %60 = load float, ptr %59, align 4, !tbaa !11
  %61 = load i32, ptr %11, align 4, !tbaa !4
  %62 = load i32, ptr %15, align 4, !tbaa !4
  %63 = add nsw i32 %61, %62
  %64 = and i32 %63, 255
  %65 = sext i32 %64 to i64
  %66 = getelementptr inbounds [256 x float], ptr addrspacecast (ptr addrspace(3) @_ZZ6kernelPfPKfS1_iiE4tile to ptr), i64 0, i64 %65
  %67 = load float, ptr %66, align 4, !tbaa !11
  %68 = fmul contract float %60, %67
  %69 = load float, ptr %14, align 4, !tbaa !11
  %70 = fadd contract float %69, %68
  store float %70, ptr %14, align 4, !tbaa !11
  br label %71

71:                                               ; preds = %51
  %72 = load i32, ptr %15, align 4, !tbaa !4
  %73 = add nsw i32 %72, 1
  store i32 %73, ptr %15, align 4, !tbaa !4
  br label %46, !llvm.loop !13

74:                                               ; preds = %50
  call void @llvm.lifetime.start.p0(ptr %16) #7
  %75 = load ptr, ptr %6, align 8, !tbaa !8
  %76 = load i32, ptr %12, align 4, !tbaa !4
  %77 = mul nsw i32 %76, 8
  %78 = sext i32 %77 to i64
  %79 = getelementptr inbounds float, ptr %75, i64 %78
  call void @llvm.assume(i1 true) [ "align"(ptr %79, i64 32) ]
  store ptr %79, ptr %16, align 8, !tbaa !8
  call void @llvm.lifetime.start.p0(ptr %17) #7
  %80 = load ptr, ptr %7, align 8, !tbaa !8
  %81 = load i32, ptr %12, align 4, !tbaa !4
  %82 = mul nsw i32 %81, 8
  %83 = sext i32 %82 to i64
  %84 = getelementptr inbounds float, ptr %80, i64 %83
  call void @llvm.assume(i1 true) [ "align"(ptr %84, i64 32) ]
  store ptr %84, ptr %17, align 8, !tbaa !8
  call void @llvm.lifetime.start.p0(ptr %18) #7
  store i32 0, ptr %18, align 4, !tbaa !4
  br label %85

85:                                               ; preds = %104, %74
  %86 = load i32, ptr %18, align 4, !tbaa !4
  %87 = icmp slt i32 %86, 8
  br i1 %87, label %89, label %88

88:                                               ; preds = %85
  store i32 5, ptr %13, align 4
  call void @llvm.lifetime.end.p0(ptr %18) #7
  br label %107

89:                                               ; preds = %85
  %90 = load ptr, ptr %17, align 8, !tbaa !8
  %91 = load i32, ptr %18, align 4, !tbaa !4
  %92 = sext i32 %91 to i64
  %93 = getelementptr inbounds float, ptr %90, i64 %92
  %94 = load float, ptr %93, align 4, !tbaa !11
  %95 = load float, ptr %14, align 4, !tbaa !11
  %96 = fmul contract float %94, %95
  %97 = load i32, ptr %18, align 4, !tbaa !4
  %98 = sitofp i32 %97 to float
  %99 = fadd contract float %96, %98
  %100 = load ptr, ptr %16, align 8, !tbaa !8
  %101 = load i32, ptr %18, align 4, !tbaa !4
  %102 = sext i32 %101 to i64
  %103 = getelementptr inbounds float, ptr %100, i64 %102
  store float %99, ptr %103, align 4, !tbaa !11
  br label %104

104:                                              ; preds = %89
  %105 = load i32, ptr %18, align 4, !tbaa !4
  %106 = add nsw i32 %105, 1
  store i32 %106, ptr %18, align 4, !tbaa !4
  br label %85, !llvm.loop !15

107:                                              ; preds = %88
  %108 = load ptr, ptr %16, align 8, !tbaa !8
  %109 = getelementptr inbounds float, ptr %108, i64 0
  %110 = load float, ptr %109, align 4, !tbaa !11
  %111 = load float, ptr %14, align 4, !tbaa !11
  %112 = load i32, ptr %10, align 4, !tbaa !4
  %113 = call contract noundef float @_ZL3mixffi(float noundef %110, float noundef %111, i32 noundef %112) #8
  %114 = load ptr, ptr %16, align 8, !tbaa !8
  %115 = getelementptr inbounds float, ptr %114, i64 1
  %116 = load float, ptr %115, align 4, !tbaa !11
  %117 = load float, ptr %14, align 4, !tbaa !11
  %118 = load i32, ptr %10, align 4, !tbaa !4
  %119 = add nsw i32 %118, 1
  %120 = call contract noundef float @_ZL3mixffi(float noundef %116, float noundef %117, i32 noundef %119) #8
  %121 = fadd contract float %113, %120
  %122 = load ptr, ptr %16, align 8, !tbaa !8
  %123 = getelementptr inbounds float, ptr %122, i64 2
  %124 = load float, ptr %123, align 4, !tbaa !11
  %125 = load ptr, ptr %7, align 8, !tbaa !8
  %126 = load i32, ptr %12, align 4, !tbaa !4
  %127 = sext i32 %126 to i64
  %128 = getelementptr inbounds float, ptr %125, i64 %127
  %129 = load float, ptr %128, align 4, !tbaa !11
  %130 = load i32, ptr %9, align 4, !tbaa !4
  %131 = call contract noundef float @_ZL3mixffi(float noundef %124, float noundef %129, i32 noundef %130) #8
  %132 = fadd contract float %121, %131
  %133 = load ptr, ptr %16, align 8, !tbaa !8
  %134 = getelementptr inbounds float, ptr %133, i64 0
  store float %132, ptr %134, align 4, !tbaa !11
  call void @llvm.lifetime.end.p0(ptr %17) #7
  call void @llvm.lifetime.end.p0(ptr %16) #7
  call void @llvm.lifetime.end.p0(ptr %14) #7
  store i32 0, ptr %13, align 4
  br label %135

135:                                              ; preds = %107, %44
  call void @llvm.lifetime.end.p0(ptr %12) #7
  call void @llvm.lifetime.end.p0(ptr %11) #7
  %136 = load i32, ptr %13, align 4
  switch i32 %136, label %138 [
    i32 0, label %137
    i32 1, label %137
  ]

137:                                              ; preds = %135, %135
  ret void

138:                                              ; preds = %135
  unreachable
}

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(ptr captures(none)) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 1, 1025) i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #2

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #3

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(ptr captures(none)) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(inaccessiblemem: write)
declare void @llvm.assume(i1 noundef) #4

; Function Attrs: convergent mustprogress nounwind
define internal noundef float @_ZL3mixffi(float noundef %0, float noundef %1, i32 noundef %2) #5 {
  %4 = alloca float, align 4
  %5 = alloca float, align 4
  %6 = alloca i32, align 4
  %7 = alloca float, align 4
  %8 = alloca i32, align 4
  %9 = alloca i32, align 4
  %10 = alloca i32, align 4
  store float %0, ptr %4, align 4, !tbaa !11
  store float %1, ptr %5, align 4, !tbaa !11
  store i32 %2, ptr %6, align 4, !tbaa !4
  call void @llvm.lifetime.start.p0(ptr %7) #7
  %11 = load float, ptr %4, align 4, !tbaa !11
  store float %11, ptr %7, align 4, !tbaa !11
  call void @llvm.lifetime.start.p0(ptr %8) #7
  store i32 0, ptr %8, align 4, !tbaa !4
  br label %12

12:                                               ; preds = %97, %3
  %13 = load i32, ptr %8, align 4, !tbaa !4
  %14 = load i32, ptr %6, align 4, !tbaa !4
  %15 = icmp slt i32 %13, %14
  br i1 %15, label %17, label %16

16:                                               ; preds = %12
  store i32 2, ptr %9, align 4
  call void @llvm.lifetime.end.p0(ptr %8) #7
  br label %100

17:                                               ; preds = %12
  %18 = load i32, ptr %8, align 4, !tbaa !4
  %19 = srem i32 %18, 3
  %20 = icmp eq i32 %19, 0
  br i1 %20, label %21, label %28

21:                                               ; preds = %17
  %22 = load float, ptr %7, align 4, !tbaa !11
  %23 = load float, ptr %7, align 4, !tbaa !11
  %24 = fmul contract float %22, %23
  %25 = load float, ptr %5, align 4, !tbaa !11
  %26 = fadd contract float %24, %25
  %27 = call contract float @llvm.sqrt.f32(float %26)
  store float %27, ptr %7, align 4, !tbaa !11
  br label %44

28:                                               ; preds = %17
  %29 = load i32, ptr %8, align 4, !tbaa !4
  %30 = srem i32 %29, 3
  %31 = icmp eq i32 %30, 1
  br i1 %31, label %32, label %37

32:                                               ; preds = %28
  %33 = load float, ptr %7, align 4, !tbaa !11
  %34 = load float, ptr %5, align 4, !tbaa !11
  %35 = fadd contract float %34, 2.000000e+00
  %36 = fdiv contract float %33, %35
  store float %36, ptr %7, align 4, !tbaa !11
  br label %43

37:                                               ; preds = %28
  %38 = load float, ptr %7, align 4, !tbaa !11
  %39 = load float, ptr %4, align 4, !tbaa !11
  %40 = fmul contract float %38, %39
  %41 = load float, ptr %5, align 4, !tbaa !11
  %42 = fadd contract float %40, %41
  store float %42, ptr %7, align 4, !tbaa !11
  br label %43

43:                                               ; preds = %37, %32
  br label %44

44:                                               ; preds = %43, %21
  call void @llvm.lifetime.start.p0(ptr %10) #7
  store i32 0, ptr %10, align 4, !tbaa !4
  br label %45

45:                                               ; preds = %63, %44
  %46 = load i32, ptr %10, align 4, !tbaa !4
  %47 = icmp slt i32 %46, 40
  br i1 %47, label %49, label %48

48:                                               ; preds = %45
  store i32 5, ptr %9, align 4
  call void @llvm.lifetime.end.p0(ptr %10) #7
  br label %66

49:                                               ; preds = %45
  %50 = load float, ptr %7, align 4, !tbaa !11
  %51 = load float, ptr %5, align 4, !tbaa !11
  %52 = fmul contract float %50, %51
  %53 = load i32, ptr %10, align 4, !tbaa !4
  %54 = and i32 %53, 3
  %55 = icmp ne i32 %54, 0
  br i1 %55, label %56, label %58

56:                                               ; preds = %49
  %57 = load float, ptr %4, align 4, !tbaa !11
  br label %60

58:                                               ; preds = %49
  %59 = load float, ptr %7, align 4, !tbaa !11
  br label %60

60:                                               ; preds = %58, %56
  %61 = phi contract float [ %57, %56 ], [ %59, %58 ]
  %62 = fadd contract float %52, %61
  store float %62, ptr %7, align 4, !tbaa !11
  br label %63

63:                                               ; preds = %60
  %64 = load i32, ptr %10, align 4, !tbaa !4
  %65 = add nsw i32 %64, 1
  store i32 %65, ptr %10, align 4, !tbaa !4
  br label %45, !llvm.loop !16

66:                                               ; preds = %48
  %67 = load i32, ptr %6, align 4, !tbaa !4
  %68 = and i32 %67, 7
  switch i32 %68, label %95 [
    i32 0, label %69
    i32 1, label %72
    i32 2, label %78
    i32 3, label %81
    i32 4, label %90
  ]

69:                                               ; preds = %66
  %70 = load float, ptr %7, align 4, !tbaa !11
  %71 = fadd contract float %70, 1.000000e+00
  store float %71, ptr %7, align 4, !tbaa !11
  br label %96

72:                                               ; preds = %66
  %73 = load float, ptr %4, align 4, !tbaa !11
  %74 = load float, ptr %5, align 4, !tbaa !11
  %75 = fmul contract float %73, %74
  %76 = load float, ptr %7, align 4, !tbaa !11
  %77 = fsub contract float %76, %75
  store float %77, ptr %7, align 4, !tbaa !11
  br label %96

78:                                               ; preds = %66
  %79 = load float, ptr %7, align 4, !tbaa !11
  %80 = fmul contract float %79, 5.000000e-01
  store float %80, ptr %7, align 4, !tbaa !11
  br label %96

81:                                               ; preds = %66
  %82 = load float, ptr %7, align 4, !tbaa !11
  %83 = fcmp contract ogt float %82, 1.000000e+01
  br i1 %83, label %84, label %86

84:                                               ; preds = %81
  %85 = load float, ptr %5, align 4, !tbaa !11
  br label %88

86:                                               ; preds = %81
  %87 = load float, ptr %7, align 4, !tbaa !11
  br label %88

88:                                               ; preds = %86, %84
  %89 = phi contract float [ %85, %84 ], [ %87, %86 ]
  store float %89, ptr %7, align 4, !tbaa !11
  br label %96

90:                                               ; preds = %66
  %91 = load float, ptr %5, align 4, !tbaa !11
  %92 = fdiv contract float %91, 3.000000e+00
  %93 = load float, ptr %7, align 4, !tbaa !11
  %94 = fadd contract float %93, %92
  store float %94, ptr %7, align 4, !tbaa !11
  br label %96

95:                                               ; preds = %66
  br label %96

96:                                               ; preds = %95, %90, %88, %78, %72, %69
  br label %97

97:                                               ; preds = %96
  %98 = load i32, ptr %8, align 4, !tbaa !4
  %99 = add nsw i32 %98, 1
  store i32 %99, ptr %8, align 4, !tbaa !4
  br label %12, !llvm.loop !17

100:                                              ; preds = %16
  %101 = load float, ptr %7, align 4, !tbaa !11
  store i32 1, ptr %9, align 4
  call void @llvm.lifetime.end.p0(ptr %7) #7
  ret float %101
}

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.sqrt.f32(float) #6

attributes #0 = { convergent mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #1 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { convergent nocallback nounwind }
attributes #4 = { nocallback nofree nosync nounwind willreturn memory(inaccessiblemem: write) }
attributes #5 = { convergent mustprogress nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #6 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #7 = { nounwind }
attributes #8 = { convergent nounwind }

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
!9 = !{!"p1 float", !10, i64 0}
!10 = !{!"any pointer", !6, i64 0}
!11 = !{!12, !12, i64 0}
!12 = !{!"float", !6, i64 0}
!13 = distinct !{!13, !14}
!14 = !{!"llvm.loop.mustprogress"}
!15 = distinct !{!15, !14}
!16 = distinct !{!16, !14}
!17 = distinct !{!17, !14}
