// The pass of this program runs between two of BlockScale's stages, and names the recipe where
// none is named.
// RUN: embed-opt %s --embed-to-cpu='recipe=te to=form-kernels' | FileCheck %s
// CHECK-LABEL: func.func @layer(
// CHECK: blockscale.kernel
// CHECK: blockscale.quantize {{.*}} recipe te
// CHECK: blockscale.kernel
// CHECK: blockscale.scaled_mm

// A recipe that is named stays.
// CHECK-LABEL: func.func @named(
// CHECK: blockscale.quantize {{.*}} recipe modelopt

// The rest of the pipeline lowers what is left.
// RUN: embed-opt %s --embed-to-cpu | FileCheck %s --check-prefix=ALL
// ALL: llvm.func @_mlir_ciface_layer(

func.func @layer(%x: tensor<32x64xbf16>, %w: tensor<48x64xbf16>) -> tensor<32x48xbf16> {
  %y = net.linear %x, %w : tensor<32x64xbf16>, tensor<48x64xbf16> -> tensor<32x48xbf16>
  return %y : tensor<32x48xbf16>
}

func.func @named(%x: tensor<32x64xbf16>, %w: tensor<48x64xbf16>) -> tensor<32x48xbf16> {
  %y = net.linear %x, %w recipe modelopt
      : tensor<32x64xbf16>, tensor<48x64xbf16> -> tensor<32x48xbf16>
  return %y : tensor<32x48xbf16>
}
