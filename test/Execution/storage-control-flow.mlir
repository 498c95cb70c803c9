// Storage passes through calls, branches and loops. Each function is compared with
// numpy on logical arrays.
//
// RUN: mkdir -p %t && %python %S/Inputs/storage_control_flow.py %s %t | FileCheck %s
// CHECK: {{^}}51 passed, 0 failed

#swizzled = #blockscale.layout<swizzle_128x4>

// Row 0 to the odd rows, by a call from a loop and a branch.
func.func private @overwrite(%q: tensor<6x8xf4E2M1FN>, %row: index) -> tensor<6x8xf4E2M1FN> {
  %0 = tensor.extract_slice %q[0, 0] [1, 8] [1, 1] : tensor<6x8xf4E2M1FN> to tensor<1x8xf4E2M1FN>
  %1 = tensor.insert_slice %0 into %q[%row, 0] [1, 8] [1, 1] : tensor<1x8xf4E2M1FN> into tensor<6x8xf4E2M1FN>
  return %1 : tensor<6x8xf4E2M1FN>
}
func.func @odd_rows(%q: tensor<6x8xf4E2M1FN>) -> tensor<6x8xf4E2M1FN> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c6 = arith.constant 6 : index
  %r = scf.for %i = %c0 to %c6 step %c1 iter_args(%b = %q) -> tensor<6x8xf4E2M1FN> {
    %bit = arith.remui %i, %c2 : index
    %odd = arith.cmpi eq, %bit, %c1 : index
    %0 = scf.if %odd -> tensor<6x8xf4E2M1FN> {
      %1 = func.call @overwrite(%b, %i) : (tensor<6x8xf4E2M1FN>, index) -> tensor<6x8xf4E2M1FN>
      scf.yield %1 : tensor<6x8xf4E2M1FN>
    } else {
      scf.yield %b : tensor<6x8xf4E2M1FN>
    }
    scf.yield %0 : tensor<6x8xf4E2M1FN>
  }
  return %r : tensor<6x8xf4E2M1FN>
}

// A private function of dynamic sizes with two results, called by another one.
func.func private @encode(%x: tensor<?x?xf32>) -> (tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe te
      : tensor<?x?xf32> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>
  return %q, %s : tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>
}
func.func private @decode(%q: tensor<?x40xf4E2M1FN>, %s: tensor<?x3xf8E4M3FN, #swizzled>) -> tensor<?x40xf32> {
  %y = blockscale.dequantize %q, %s block [1, 16] recipe te
      : tensor<?x40xf4E2M1FN>, tensor<?x3xf8E4M3FN, #swizzled> -> tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}
func.func @calls(%x: tensor<?x40xf32>) -> (tensor<?x40xf4E2M1FN>, tensor<?x3xf8E4M3FN, #swizzled>, tensor<?x40xf32>) {
  %any = tensor.cast %x : tensor<?x40xf32> to tensor<?x?xf32>
  %q, %s = call @encode(%any) : (tensor<?x?xf32>) -> (tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>)
  %r = tensor.cast %q : tensor<?x?xf4E2M1FN> to tensor<?x40xf4E2M1FN>
  %t = tensor.cast %s : tensor<?x?xf8E4M3FN, #swizzled> to tensor<?x3xf8E4M3FN, #swizzled>
  %y = call @decode(%r, %t) : (tensor<?x40xf4E2M1FN>, tensor<?x3xf8E4M3FN, #swizzled>) -> tensor<?x40xf32>
  return %r, %t, %y : tensor<?x40xf4E2M1FN>, tensor<?x3xf8E4M3FN, #swizzled>, tensor<?x40xf32>
}

// A public function may be called as well.
func.func @public(%s: tensor<?x5xf8E8M0FNU>) -> tensor<?x5xf8E8M0FNU, #swizzled> {
  %t = blockscale.swizzle %s : tensor<?x5xf8E8M0FNU> -> tensor<?x5xf8E8M0FNU, #swizzled>
  return %t : tensor<?x5xf8E8M0FNU, #swizzled>
}
func.func @call_public(%s: tensor<?x5xf8E8M0FNU>) -> (tensor<?x5xf8E8M0FNU, #swizzled>, tensor<?x5xf8E8M0FNU, #swizzled>) {
  %0 = call @public(%s) : (tensor<?x5xf8E8M0FNU>) -> tensor<?x5xf8E8M0FNU, #swizzled>
  %1 = call @public(%s) : (tensor<?x5xf8E8M0FNU>) -> tensor<?x5xf8E8M0FNU, #swizzled>
  return %0, %1 : tensor<?x5xf8E8M0FNU, #swizzled>, tensor<?x5xf8E8M0FNU, #swizzled>
}

// Tile rows of %t over those of %s, from the last to the first, down to %n.
func.func @while(%s: tensor<384x5xf8E4M3FN, #swizzled>, %t: tensor<128x5xf8E4M3FN, #swizzled>, %n: index)
    -> tensor<384x5xf8E4M3FN, #swizzled> {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c128 = arith.constant 128 : index
  %r:2 = scf.while (%i = %c3, %b = %s) : (index, tensor<384x5xf8E4M3FN, #swizzled>)
      -> (index, tensor<384x5xf8E4M3FN, #swizzled>) {
    %more = arith.cmpi ugt, %i, %n : index
    scf.condition(%more) %i, %b : index, tensor<384x5xf8E4M3FN, #swizzled>
  } do {
  ^bb0(%i: index, %b: tensor<384x5xf8E4M3FN, #swizzled>):
    %j = arith.subi %i, %c1 : index
    %row = arith.muli %j, %c128 : index
    %0 = tensor.insert_slice %t into %b[%row, 0] [128, 5] [1, 1]
        : tensor<128x5xf8E4M3FN, #swizzled> into tensor<384x5xf8E4M3FN, #swizzled>
    scf.yield %j, %0 : index, tensor<384x5xf8E4M3FN, #swizzled>
  }
  return %r#1 : tensor<384x5xf8E4M3FN, #swizzled>
}

// One of two tensors, by select, if and index_switch; which is known at run time.
func.func @choices(%which: index, %s: tensor<?x5xf8E4M3FN, #swizzled>, %t: tensor<?x5xf8E4M3FN, #swizzled>,
                   %q: tensor<?x7xf4E2M1FN>, %p: tensor<?x7xf4E2M1FN>)
    -> (tensor<?x5xf8E4M3FN, #swizzled>, tensor<?x7xf4E2M1FN>, tensor<?x7xf4E2M1FN>) {
  %c0 = arith.constant 0 : index
  %first = arith.cmpi eq, %which, %c0 : index
  %0 = arith.select %first, %s, %t : tensor<?x5xf8E4M3FN, #swizzled>
  %1 = scf.if %first -> tensor<?x7xf4E2M1FN> {
    scf.yield %q : tensor<?x7xf4E2M1FN>
  } else {
    scf.yield %p : tensor<?x7xf4E2M1FN>
  }
  %2 = scf.index_switch %which -> tensor<?x7xf4E2M1FN>
  case 0 {
    scf.yield %q : tensor<?x7xf4E2M1FN>
  }
  default {
    scf.yield %p : tensor<?x7xf4E2M1FN>
  }
  return %0, %1, %2 : tensor<?x5xf8E4M3FN, #swizzled>, tensor<?x7xf4E2M1FN>, tensor<?x7xf4E2M1FN>
}

// Buffers whose layout in memory depends on the branch, read by kernels.
func.func @chosen_layout(%first: i1, %x: tensor<40x96xf32>, %y: tensor<20x48xf32>)
    -> (tensor<20x48xf32>, tensor<20x48xf4E2M1FN>, tensor<20x3xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<40x96xf32> -> tensor<40x96xf4E2M1FN>, tensor<40x6xf8E4M3FN>
  %p, %t = blockscale.quantize %y block [1, 16] : tensor<20x48xf32> -> tensor<20x48xf4E2M1FN>, tensor<20x3xf8E4M3FN>
  %0:3 = scf.if %first -> (tensor<20x48xf4E2M1FN>, tensor<20x3xf8E4M3FN>, tensor<20x48xf32>) {
    %1 = tensor.extract_slice %q[1, 48] [20, 48] [2, 1] : tensor<40x96xf4E2M1FN> to tensor<20x48xf4E2M1FN>
    %2 = tensor.extract_slice %s[1, 3] [20, 3] [2, 1] : tensor<40x6xf8E4M3FN> to tensor<20x3xf8E4M3FN>
    %3 = tensor.extract_slice %x[0, 1] [20, 48] [1, 2] : tensor<40x96xf32> to tensor<20x48xf32>
    scf.yield %1, %2, %3 : tensor<20x48xf4E2M1FN>, tensor<20x3xf8E4M3FN>, tensor<20x48xf32>
  } else {
    scf.yield %p, %t, %y : tensor<20x48xf4E2M1FN>, tensor<20x3xf8E4M3FN>, tensor<20x48xf32>
  }
  %u = blockscale.swizzle %0#1 : tensor<20x3xf8E4M3FN> -> tensor<20x3xf8E4M3FN, #swizzled>
  %z = blockscale.dequantize %0#0, %u block [1, 16]
      : tensor<20x48xf4E2M1FN>, tensor<20x3xf8E4M3FN, #swizzled> -> tensor<20x48xf32>
  %d, %e = blockscale.quantize %0#2 block [1, 16] recipe te
      : tensor<20x48xf32> -> tensor<20x48xf4E2M1FN>, tensor<20x3xf8E4M3FN, #swizzled>
  return %z, %d, %e : tensor<20x48xf32>, tensor<20x48xf4E2M1FN>, tensor<20x3xf8E4M3FN, #swizzled>
}

// Quantized as a whole, and in tiles of 128 rows, the last one shorter.
func.func @whole(%x: tensor<?x96xf32>) -> (tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<?x96xf32> -> tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled>
  return %q, %s : tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled>
}
func.func @tiled(%x: tensor<?x96xf32>) -> (tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x96xf32>
  %qi = tensor.empty(%rows) : tensor<?x96xf4E2M1FN>
  %si = tensor.empty(%rows) : tensor<?x6xf8E4M3FN, #swizzled>
  %r:2 = scf.forall (%i) = (0) to (%rows) step (128) shared_outs(%qo = %qi, %so = %si)
      -> (tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled>) {
    %n = affine.min affine_map<(d0)[s0] -> (128, s0 - d0)>(%i)[%rows]
    %t = tensor.extract_slice %x[%i, 0] [%n, 96] [1, 1] : tensor<?x96xf32> to tensor<?x96xf32>
    %q, %s = blockscale.quantize %t block [1, 16] : tensor<?x96xf32> -> tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %q into %qo[%i, 0] [%n, 96] [1, 1] : tensor<?x96xf4E2M1FN> into tensor<?x96xf4E2M1FN>
      tensor.parallel_insert_slice %s into %so[%i, 0] [%n, 6] [1, 1] : tensor<?x6xf8E4M3FN, #swizzled> into tensor<?x6xf8E4M3FN, #swizzled>
    }
  }
  return %r#0, %r#1 : tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled>
}

// The same by a sequential loop, and in columns of tiles.
func.func @looped(%x: tensor<?x96xf32>) -> (tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %c96 = arith.constant 96 : index
  %rows = tensor.dim %x, %c0 : tensor<?x96xf32>
  %qi = tensor.empty(%rows) : tensor<?x96xf4E2M1FN>
  %si = tensor.empty(%rows) : tensor<?x6xf8E4M3FN, #swizzled>
  %r:2 = scf.for %k = %c0 to %c96 step %c64 iter_args(%qo = %qi, %so = %si)
      -> (tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled>) {
    %n = affine.min affine_map<(d0) -> (64, 96 - d0)>(%k)
    %col = affine.apply affine_map<(d0) -> (d0 floordiv 16)>(%k)
    %m = affine.min affine_map<(d0) -> (4, 6 - d0 floordiv 16)>(%k)
    %t = tensor.extract_slice %x[0, %k] [%rows, %n] [1, 1] : tensor<?x96xf32> to tensor<?x?xf32>
    %q, %s = blockscale.quantize %t block [1, 16] : tensor<?x?xf32> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>
    %q2 = tensor.insert_slice %q into %qo[0, %k] [%rows, %n] [1, 1] : tensor<?x?xf4E2M1FN> into tensor<?x96xf4E2M1FN>
    %s2 = tensor.insert_slice %s into %so[0, %col] [%rows, %m] [1, 1]
        : tensor<?x?xf8E4M3FN, #swizzled> into tensor<?x6xf8E4M3FN, #swizzled>
    scf.yield %q2, %s2 : tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled>
  }
  return %r#0, %r#1 : tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled>
}

// Swapped in every iteration, so that neither buffer can be written in place.
func.func @swapped(%s: tensor<130x5xf8E4M3FN, #swizzled>, %t: tensor<130x5xf8E4M3FN, #swizzled>, %n: index)
    -> (tensor<130x5xf8E4M3FN, #swizzled>, tensor<130x5xf8E4M3FN, #swizzled>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %s, %b = %t)
      -> (tensor<130x5xf8E4M3FN, #swizzled>, tensor<130x5xf8E4M3FN, #swizzled>) {
    %0 = tensor.extract_slice %a[128, 4] [2, 1] [1, 1]
        : tensor<130x5xf8E4M3FN, #swizzled> to tensor<2x1xf8E4M3FN, #swizzled>
    %1 = tensor.insert_slice %0 into %b[128, 4] [2, 1] [1, 1]
        : tensor<2x1xf8E4M3FN, #swizzled> into tensor<130x5xf8E4M3FN, #swizzled>
    scf.yield %1, %a : tensor<130x5xf8E4M3FN, #swizzled>, tensor<130x5xf8E4M3FN, #swizzled>
  }
  return %r#0, %r#1 : tensor<130x5xf8E4M3FN, #swizzled>, tensor<130x5xf8E4M3FN, #swizzled>
}
