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

// A row that is no more than copied goes there by a loop of one launch, which reads the position.
// CHECK-LABEL: gpu.func @plain_copy_bf16(
// CHECK:         llvm.load %{{.+}} -> i32
// CHECK:         nvvm.shfl.sync idx
// CHECK:         arith.minsi
// CHECK:         arith.maxsi
// CHECK-LABEL: func.func @append(
// CHECK-NOT:     memref.load
// CHECK-COUNT-1: gpu.launch_func
// CHECK-NOT:     gpu.launch_func
// CHECK:         return

// CHECK-LABEL: func.func @copied(
// CHECK-NOT:     memref.load
// CHECK-COUNT-1: gpu.launch_func @blockscale_kernels::@plain_copy_bf16
// CHECK-NOT:     gpu.launch_func
// CHECK:         return

// A row is read there in the same way.
// CHECK-LABEL: func.func @looked_up(
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

func.func @copied(%cache: tensor<?x128xbf16> {bufferization.writable = true}, %x: tensor<1x128xbf16>,
                  %position: tensor<i32>) -> tensor<?x128xbf16> {
  %n = tensor.extract %position[] : tensor<i32>
  %p = arith.index_cast %n : i32 to index
  %a = tensor.insert_slice %x into %cache[%p, 0] [1, 128] [1, 1]
      : tensor<1x128xbf16> into tensor<?x128xbf16>
  return %a : tensor<?x128xbf16>
}

func.func @looked_up(%table: tensor<64x?xf32>, %position: tensor<2xi64>) -> tensor<?xf32> {
  %c1 = arith.constant 1 : index
  %n = tensor.extract %position[%c1] : tensor<2xi64>
  %p = arith.index_cast %n : i64 to index
  %size = tensor.dim %table, %c1 : tensor<64x?xf32>
  %r = tensor.extract_slice %table[%p, 0] [1, %size] [1, 1] : tensor<64x?xf32> to tensor<?xf32>
  return %r : tensor<?xf32>
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

// The host passes no sizes of the memory that has the position.
func.func @table(%cache: tensor<64x128xbf16> {bufferization.writable = true}, %x: tensor<1x128xbf16>,
                 %positions: tensor<2x?xi64>) -> tensor<64x128xbf16> {
  %c1 = arith.constant 1 : index
  %n = tensor.extract %positions[%c1, %c1] : tensor<2x?xi64>
  %p = arith.index_cast %n : i64 to index
  // expected-error@+1 {{expected a part that begins where index, i32, i64 and f32 of the host and buffers of known inner sizes say, but got 'memref<2x?xi64>'}}
  %a = tensor.insert_slice %x into %cache[%p, 0] [1, 128] [1, 1]
      : tensor<1x128xbf16> into tensor<64x128xbf16>
  return %a : tensor<64x128xbf16>
}
