// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_90a --canonicalize --cse -split-input-file -verify-diagnostics | FileCheck %s

// A thread is an iteration: its index is taken apart, and addresses are computed from
// strides. What types do not tell arrives as i64; the offset of a part is in its pointer.
// CHECK-LABEL: gpu.func @plain_copy_f32(
// CHECK-SAME: %[[TOTAL:[a-z0-9]+]]: i64
// CHECK: %[[T:.+]] = {{.*}}arith.addi
// CHECK: arith.cmpi ult, %[[T]]
// CHECK: scf.if
// CHECK: %[[J:.+]] = arith.remui
// CHECK: %[[I:.+]] = arith.divui
// CHECK: llvm.getelementptr %{{.+}} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
// CHECK: llvm.load %{{.+}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK: llvm.store %{{.+}}, %{{.+}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
// CHECK-LABEL: func.func @copy
// CHECK: %[[BLOCKS:.+]] = arith.ceildivui %{{.+}}, %c128
// CHECK: gpu.launch_func @blockscale_kernels::@plain_copy_f32 blocks in (%[[BLOCKS]], %c1, %c1) threads in (%c128, %c1, %c1)
func.func @copy(%x: memref<?x?xf32>, %y: memref<?x4xf32>, %o: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %m = memref.dim %x, %c0 : memref<?x?xf32>
  %s = memref.subview %x[0, %o] [%m, 4] [1, 2] : memref<?x?xf32> to memref<?x4xf32, strided<[?, 2], offset: ?>>
  scf.parallel (%i, %j) = (%c0, %c0) to (%m, %c4) step (%c1, %c1) {
    %a = memref.load %s[%i, %j] : memref<?x4xf32, strided<[?, 2], offset: ?>>
    memref.store %a, %y[%i, %j] : memref<?x4xf32>
    scf.reduce
  } {blockscale.plain = "copy_f32"}
  return
}

// -----

// Booleans have a byte, indices eight; scalars of the host are parameters, and what is
// computed from them is computed again.
// CHECK-LABEL: gpu.func @plain_loop(
// CHECK: arith.addf %{{.+}}, %{{.+}} : f32
// CHECK: llvm.load %{{.+}} {alignment = 1 : i64} : !llvm.ptr<1> -> i8
// CHECK: arith.cmpi ne, %{{.+}}, %{{.+}} : i8
// CHECK: llvm.call_intrinsic "llvm.sqrt"
// CHECK: llvm.store %{{.+}}, %{{.+}} {alignment = 8 : i64} : i64, !llvm.ptr<1>
func.func @types(%x: memref<8xi1>, %y: memref<8xindex>, %a: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %b = arith.addf %a, %a : f32
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %k = memref.load %x[%i] : memref<8xi1>
    %s = math.sqrt %b : f32
    %l = arith.cmpf olt, %s, %b : f32
    %q = arith.xori %k, %l : i1
    %v = arith.select %q, %i, %n : index
    memref.store %v, %y[%i] : memref<8xindex>
    scf.reduce
  }
  return
}

// -----

// Loops of equal code share a kernel.
// CHECK-COUNT-1: gpu.func
// CHECK-NOT: gpu.func
// CHECK-COUNT-2: gpu.launch_func @blockscale_kernels::@plain_loop
func.func @twice(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f = arith.constant 1.0 : f32
  %m = memref.dim %x, %c0 : memref<?xf32>
  %n = memref.dim %y, %c0 : memref<?xf32>
  scf.parallel (%i) = (%c0) to (%m) step (%c1) {
    memref.store %f, %x[%i] : memref<?xf32>
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    memref.store %f, %y[%i] : memref<?xf32>
    scf.reduce
  }
  return
}

// -----

// An assertion that does not hold writes the record: the rule, what was expected and found,
// and the text, eight bytes at a time. The thread goes on.
// CHECK: llvm.mlir.global external @blockscale_error_record({{.*}}) {{.*}}: !llvm.array<65 x i64>
// CHECK-LABEL: gpu.func @plain_asserted(
// CHECK: %[[VARIABLE:.+]] = llvm.mlir.addressof @blockscale_error_record
// CHECK: %[[A:.+]] = llvm.load %{{.+}} {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// CHECK: %[[FAILS:.+]] = arith.cmpi sge, %[[A]], %c16_i32 : i32
// CHECK: scf.if %[[FAILS]] {
// CHECK:   %[[FOUND:.+]] = arith.extsi %[[A]] : i32 to i64
// CHECK:   %[[SWAPPED:.+]] = llvm.cmpxchg %{{.+}}, %c0_i64, %c5_i64 monotonic monotonic
// CHECK:   %[[WRITES:.+]] = llvm.extractvalue %[[SWAPPED]][1]
// CHECK:   scf.if %[[WRITES]] {
// CHECK:     llvm.store %c0_i64
// CHECK:     llvm.store %c16_i64
// CHECK:     llvm.store %[[FOUND]]
// CHECK:     llvm.store %c7454127450280128372_i64
// CHECK:     llvm.store %c101_i64
// CHECK: llvm.store %[[A]], %{{.+}} {alignment = 4 : i64} : i32, !llvm.ptr<1>
func.func @asserted(%x: memref<8xi32>, %y: memref<8xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : i32
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %a = memref.load %x[%i] : memref<8xi32>
    %holds = arith.cmpi slt, %a, %c16 : i32
    cf.assert %holds, "too large"
    memref.store %a, %y[%i] : memref<8xi32>
    scf.reduce
  } {blockscale.plain = "asserted"}
  return
}

// -----

func.func @library(%x: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %a = memref.load %x[%i] : memref<8xf32>
    // expected-error @below {{'math.sin' op whose value depends on the target's library has no form on a GPU: expected scalar arithmetic, math that blockscale-expand-math expands, scf, assertions, and loads and stores of the function's buffers}}
    %b = math.sin %a : f32
    memref.store %b, %x[%i] : memref<8xf32>
    scf.reduce
  }
  return
}

// -----

func.func @remainder(%x: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %a = memref.load %x[%i] : memref<8xf32>
    // expected-error @below {{'arith.remf' op whose value depends on the target's library has no form on a GPU}}
    %b = arith.remf %a, %a : f32
    memref.store %b, %x[%i] : memref<8xf32>
    scf.reduce
  }
  return
}

// -----

func.func @memory(%x: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    // expected-error @below {{'memref.alloca' op in a loop over elements has no form on a GPU}}
    %t = memref.alloca() : memref<4xf32>
    %a = memref.load %t[%c0] : memref<4xf32>
    memref.store %a, %x[%i] : memref<8xf32>
    scf.reduce
  }
  return
}

// -----

func.func @reduces(%x: memref<8xf32>, %f: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // expected-error @below {{'scf.parallel' op expected a parallel loop without results, which store what they reduce, but got 1}}
  %r = scf.parallel (%i) = (%c0) to (%c8) step (%c1) init (%f) -> f32 {
    %a = memref.load %x[%i] : memref<8xf32>
    scf.reduce(%a : f32) {
    ^bb0(%p: f32, %q: f32):
      %s = arith.addf %p, %q : f32
      scf.reduce.return %s : f32
    }
  }
  return %r : f32
}

// -----

func.func @scalar(%x: memref<8xf64>, %f: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // expected-error @below {{'scf.parallel' op expected values from outside that kernels take (memrefs, index, i32, i64, f32), but got one of type 'f64'}}
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    memref.store %f, %x[%i] : memref<8xf64>
    scf.reduce
  }
  return
}
