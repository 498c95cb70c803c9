// RUN: split-file %s %t
// RUN: blockscale-opt %t/append.mlir --blockscale-to-gpu=chip=sm_100a | FileCheck %s
// RUN: blockscale-opt %t/append.mlir --blockscale-to-gpu="chip=sm_100a checks=0" | FileCheck %s --check-prefix=FREE
// RUN: blockscale-opt %t/refused.mlir --blockscale-to-gpu=chip=sm_100a -split-input-file -verify-diagnostics

// A row goes to where an element of memory says: the launch passes both caches and
// the position, which the kernel reads.
// CHECK-LABEL: gpu.func @quantize_e4m3_rceil_bf16_k128_at_place(
// CHECK-SAME:      %[[X:.+]]: !llvm.ptr<1> {{.*}}, %[[DATA:.+]]: !llvm.ptr<1> {{.*}}, %[[SCALE:.+]]: !llvm.ptr<1> {{.*}}, %[[ROWS:.+]]: i64, %[[POSITION:.+]]: !llvm.ptr<1>
// The first thread of a warp reads it.
// CHECK:         %[[WORD:.+]] = scf.if
// CHECK:           llvm.load %[[POSITION]]{{.*}} -> i32
// CHECK:         nvvm.shfl.sync idx
// It is in the cache, or becomes so and is an error.
// CHECK:         arith.minsi
// CHECK:         arith.maxsi
// CHECK:         llvm.getelementptr %[[DATA]][
// CHECK:         llvm.getelementptr %[[SCALE]][
// CHECK-LABEL: func.func @append(
// CHECK-NOT:     memref.load
// CHECK-COUNT-1: gpu.launch_func
// CHECK-NOT:     gpu.launch_func
// CHECK:         return

// Without checks, the program has proved that it is there.
// FREE-LABEL: gpu.func @quantize_e4m3_rceil_bf16_k128_at_place(
// FREE-NOT:     arith.minsi
// FREE-LABEL: func.func @append(

//--- append.mlir
func.func @append(%data: tensor<?x128xf8E4M3FN> {bufferization.writable = true},
                  %scale: tensor<?x4xf8E8M0FNU> {bufferization.writable = true},
                  %x: tensor<1x128xbf16>, %position: tensor<i32>)
    -> (tensor<?x128xf8E4M3FN>, tensor<?x4xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [1, 32]
      : tensor<1x128xbf16> -> tensor<1x128xf8E4M3FN>, tensor<1x4xf8E8M0FNU>
  %n = tensor.extract %position[] : tensor<i32>
  %p = arith.index_cast %n : i32 to index
  %a = tensor.insert_slice %q into %data[%p, 0] [1, 128] [1, 1]
      : tensor<1x128xf8E4M3FN> into tensor<?x128xf8E4M3FN>
  %b = tensor.insert_slice %s into %scale[%p, 0] [1, 4] [1, 1]
      : tensor<1x4xf8E8M0FNU> into tensor<?x4xf8E8M0FNU>
  return %a, %b : tensor<?x128xf8E4M3FN>, tensor<?x4xf8E8M0FNU>
}

//--- refused.mlir

// What another kernel computes may not be known where the row is written.
func.func @computed(%data: tensor<64x128xf8E4M3FN> {bufferization.writable = true},
                    %scale: tensor<64x4xf8E8M0FNU> {bufferization.writable = true},
                    %x: tensor<1x128xbf16>, %ends: tensor<3xi32> {bufferization.writable = true})
    -> (tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{expected operand 1 to be known to the host before anything runs}}
  %q, %s = blockscale.quantize %x block [1, 32]
      : tensor<1x128xbf16> -> tensor<1x128xf8E4M3FN>, tensor<1x4xf8E8M0FNU>
  %n = tensor.extract %ends[%c0] : tensor<3xi32>
  %p = arith.index_cast %n : i32 to index
  %a = tensor.insert_slice %q into %data[%p, 0] [1, 128] [1, 1]
      : tensor<1x128xf8E4M3FN> into tensor<64x128xf8E4M3FN>
  %b = tensor.insert_slice %s into %scale[%p, 0] [1, 4] [1, 1]
      : tensor<1x4xf8E8M0FNU> into tensor<64x4xf8E8M0FNU>
  return %a, %b : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
}

// -----

// A part may begin in the middle of what the kernel writes at once.
func.func @unaligned(%data: tensor<1x512xf8E4M3FN> {bufferization.writable = true},
                     %x: tensor<1x128xbf16>, %position: tensor<i64>)
    -> (tensor<1x512xf8E4M3FN>, tensor<1x4xf8E8M0FNU>) {
  // expected-error@+1 {{expected a part that begins where an element of memory says to begin at a multiple of 32 bytes (launch_c1), but its places are 1 bytes apart}}
  %q, %s = blockscale.quantize %x block [1, 32]
      : tensor<1x128xbf16> -> tensor<1x128xf8E4M3FN>, tensor<1x4xf8E8M0FNU>
  %n = tensor.extract %position[] : tensor<i64>
  %p = arith.index_cast %n : i64 to index
  %a = tensor.insert_slice %q into %data[0, %p] [1, 128] [1, 1]
      : tensor<1x128xf8E4M3FN> into tensor<1x512xf8E4M3FN>
  return %a, %s : tensor<1x512xf8E4M3FN>, tensor<1x4xf8E8M0FNU>
}

// -----

// Rows of a cache may have a length that only the call knows.
func.func @dynamic(%data: tensor<64x?xf8E4M3FN> {bufferization.writable = true},
                   %x: tensor<1x128xbf16>, %position: tensor<i64>)
    -> (tensor<64x?xf8E4M3FN>, tensor<1x4xf8E8M0FNU>) {
  // expected-error@+1 {{expected a part that begins where an element of memory says in a buffer of known inner sizes}}
  %q, %s = blockscale.quantize %x block [1, 32]
      : tensor<1x128xbf16> -> tensor<1x128xf8E4M3FN>, tensor<1x4xf8E8M0FNU>
  %n = tensor.extract %position[] : tensor<i64>
  %p = arith.index_cast %n : i64 to index
  %a = tensor.insert_slice %q into %data[%p, 0] [1, 128] [1, 1]
      : tensor<1x128xf8E4M3FN> into tensor<64x?xf8E4M3FN>
  return %a, %s : tensor<64x?xf8E4M3FN>, tensor<1x4xf8E8M0FNU>
}

// -----

// Nor may a kernel read rows there.
func.func @read(%x: tensor<64x128xbf16>, %position: tensor<i64>)
    -> (tensor<1x128xf8E4M3FN>, tensor<1x4xf8E8M0FNU>) {
  %n = tensor.extract %position[] : tensor<i64>
  %p = arith.index_cast %n : i64 to index
  // expected-error@+1 {{to be known to the host before anything runs}}
  %r = tensor.extract_slice %x[%p, 0] [1, 128] [1, 1] : tensor<64x128xbf16> to tensor<1x128xbf16>
  %q, %s = blockscale.quantize %r block [1, 32]
      : tensor<1x128xbf16> -> tensor<1x128xf8E4M3FN>, tensor<1x4xf8E8M0FNU>
  return %q, %s : tensor<1x128xf8E4M3FN>, tensor<1x4xf8E8M0FNU>
}

// -----

// A part of plain ops has no kernel that computes where it begins.
func.func @plain(%x: tensor<64x8xf32> {bufferization.writable = true}, %y: tensor<1x8xf32>,
                 %position: tensor<i64>) -> tensor<64x8xf32> {
  %n = tensor.extract %position[] : tensor<i64>
  %p = arith.index_cast %n : i64 to index
  // expected-error@+1 {{to be known to the host before anything runs}}
  %a = tensor.insert_slice %y into %x[%p, 0] [1, 8] [1, 1]
      : tensor<1x8xf32> into tensor<64x8xf32>
  return %a : tensor<64x8xf32>
}
