// RUN: blockscale-opt %s -blockscale-internalize-functions -convert-func-to-llvm | FileCheck %s

// A public function is reached through its C interface only.
// CHECK-LABEL: llvm.func internal @public_function(
// CHECK-LABEL: llvm.func @_mlir_ciface_public_function(
func.func @public_function(%f: f32) attributes {llvm.emit_c_interface} {
  return
}

// CHECK-LABEL: llvm.func internal @private_function(
func.func private @private_function(%f: f32) {
  return
}

// A declaration is for the linker to resolve.
// CHECK-LABEL: llvm.func @declared(f32)
func.func private @declared(f32)
