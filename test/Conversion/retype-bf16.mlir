// RUN: blockscale-opt %s -blockscale-retype-bf16 | FileCheck %s

// Numbers and vectors of them become words of their bits, through branches as well; casts
// to such words have nothing to do.
// CHECK-LABEL: llvm.func @moves
// CHECK-SAME: %[[P:.+]]: !llvm.ptr, %[[C:.+]]: i1
// CHECK-DAG: %[[ONE:.+]] = llvm.mlir.constant(16256 : i16) : i16
// CHECK-DAG: %[[ONES:.+]] = llvm.mlir.constant(dense<16256> : vector<2xi16>) : vector<2xi16>
// CHECK-DAG: %[[X:.+]] = llvm.load %[[P]] : !llvm.ptr -> i16
// CHECK: %[[Y:.+]] = llvm.select %[[C]], %[[X]], %[[ONE]] : i1, i16
// CHECK: llvm.cond_br %[[C]], ^[[NEXT:.+]](%[[Y]] : i16), ^[[NEXT]](%[[ONE]] : i16)
// CHECK: ^[[NEXT]](%[[Z:.+]]: i16):
// CHECK-NOT: llvm.bitcast
// CHECK: llvm.zext %[[Z]] : i16 to i32
// CHECK: llvm.store %[[Z]], %[[P]] : i16, !llvm.ptr
// CHECK: llvm.store %[[ONES]], %[[P]] : vector<2xi16>, !llvm.ptr
llvm.func @moves(%p: !llvm.ptr, %c: i1) -> i32 {
  %one = llvm.mlir.constant(1.0 : bf16) : bf16
  %ones = llvm.mlir.constant(dense<1.0> : vector<2xbf16>) : vector<2xbf16>
  %x = llvm.load %p : !llvm.ptr -> bf16
  %y = llvm.select %c, %x, %one : i1, bf16
  llvm.cond_br %c, ^next(%y : bf16), ^next(%one : bf16)
^next(%z: bf16):
  %bits = llvm.bitcast %z : bf16 to i16
  %word = llvm.zext %bits : i16 to i32
  llvm.store %z, %p : bf16, !llvm.ptr
  llvm.store %ones, %p : vector<2xbf16>, !llvm.ptr
  llvm.return %word : i32
}

// What computes with bf16 keeps it,
// CHECK-LABEL: llvm.func @computes
// CHECK: %[[X:.+]] = llvm.load %{{.+}} : !llvm.ptr -> bf16
// CHECK: llvm.fadd %[[X]], %[[X]] : bf16
llvm.func @computes(%p: !llvm.ptr) {
  %x = llvm.load %p : !llvm.ptr -> bf16
  %y = llvm.fadd %x, %x : bf16
  llvm.store %y, %p : bf16, !llvm.ptr
  llvm.return
}

// and so does a function that callers give one to.
// CHECK-LABEL: llvm.func @given
// CHECK-SAME: bf16
// CHECK: llvm.store %{{.+}}, %{{.+}} : bf16, !llvm.ptr
llvm.func @given(%p: !llvm.ptr, %x: bf16) {
  llvm.store %x, %p : bf16, !llvm.ptr
  llvm.return
}

// Bits of a resource are not looked at.
// CHECK-LABEL: llvm.func @resource
// CHECK: llvm.store %{{.+}}, %{{.+}} : vector<2xbf16>, !llvm.ptr
llvm.func @resource(%p: !llvm.ptr) {
  %x = llvm.mlir.constant(dense_resource<ones> : vector<2xbf16>) : vector<2xbf16>
  llvm.store %x, %p : vector<2xbf16>, !llvm.ptr
  llvm.return
}

{-#
  dialect_resources: {
    builtin: {
      ones: "0x02000000803F803F"
    }
  }
#-}
