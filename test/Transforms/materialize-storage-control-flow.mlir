// RUN: blockscale-opt %s -blockscale-materialize-storage | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// CHECK-LABEL: func.func @scf_for
func.func @scf_for(%q: tensor<8x32xf4E2M1FN>, %n: index) -> tensor<8x32xf4E2M1FN> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: scf.for {{.+}} iter_args(%[[B:.+]] = %{{.+}}) -> (tensor<8x16xi8>)
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%b = %q) -> tensor<8x32xf4E2M1FN> {
    // CHECK: %[[V:.+]] = func.call @step(%[[B]]) : (tensor<8x16xi8>) -> tensor<8x16xi8>
    %0 = func.call @step(%b) : (tensor<8x32xf4E2M1FN>) -> tensor<8x32xf4E2M1FN>
    // CHECK: scf.yield %[[V]] : tensor<8x16xi8>
    scf.yield %0 : tensor<8x32xf4E2M1FN>
  }
  return %r : tensor<8x32xf4E2M1FN>
}
func.func private @step(tensor<8x32xf4E2M1FN>) -> tensor<8x32xf4E2M1FN>

// CHECK-LABEL: func.func @scf_if_select
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<1x1x32x4x4xf8E4M3FN>, %[[T:[a-z0-9]+]]: tensor<1x1x32x4x4xf8E4M3FN>, %[[C:[a-z0-9]+]]: i1
func.func @scf_if_select(%s: tensor<4x4xf8E4M3FN, #swizzled>, %t: tensor<4x4xf8E4M3FN, #swizzled>, %c: i1) -> tensor<4x4xf8E4M3FN, #swizzled> {
  // CHECK: %[[X:.+]] = scf.if %[[C]] -> (tensor<1x1x32x4x4xf8E4M3FN>)
  %0 = scf.if %c -> tensor<4x4xf8E4M3FN, #swizzled> {
    // CHECK: scf.yield %[[S]]
    scf.yield %s : tensor<4x4xf8E4M3FN, #swizzled>
  } else {
    // CHECK: scf.yield %[[T]]
    scf.yield %t : tensor<4x4xf8E4M3FN, #swizzled>
  }
  // CHECK: arith.select %[[C]], %[[X]], %[[T]] : tensor<1x1x32x4x4xf8E4M3FN>
  %1 = arith.select %c, %0, %t : tensor<4x4xf8E4M3FN, #swizzled>
  return %1 : tensor<4x4xf8E4M3FN, #swizzled>
}

// CHECK-LABEL: func.func @scf_while
func.func @scf_while(%q: tensor<?x32xf4E2M1FN>) -> tensor<?x32xf4E2M1FN> {
  // CHECK: scf.while (%[[B:.+]] = %{{.+}}) : (tensor<?x16xi8>) -> tensor<?x16xi8>
  %r = scf.while (%b = %q) : (tensor<?x32xf4E2M1FN>) -> tensor<?x32xf4E2M1FN> {
    %c = func.call @more(%b) : (tensor<?x32xf4E2M1FN>) -> i1
    // CHECK: scf.condition(%{{.+}}) %[[B]] : tensor<?x16xi8>
    scf.condition(%c) %b : tensor<?x32xf4E2M1FN>
  } do {
  // CHECK: ^bb0(%[[D:.+]]: tensor<?x16xi8>):
  ^bb0(%b: tensor<?x32xf4E2M1FN>):
    // CHECK: scf.yield %[[D]] : tensor<?x16xi8>
    scf.yield %b : tensor<?x32xf4E2M1FN>
  }
  return %r : tensor<?x32xf4E2M1FN>
}
func.func private @more(tensor<?x32xf4E2M1FN>) -> i1

// CHECK-LABEL: func.func @scf_index_switch
// CHECK-SAME: %[[Q:.+]]: tensor<8x16xi8>, %[[P:.+]]: tensor<8x16xi8>
func.func @scf_index_switch(%q: tensor<8x32xf4E2M1FN>, %p: tensor<8x32xf4E2M1FN>, %i: index) -> tensor<8x32xf4E2M1FN> {
  // CHECK: scf.index_switch %{{.+}} -> tensor<8x16xi8>
  %0 = scf.index_switch %i -> tensor<8x32xf4E2M1FN>
  case 2 {
    // CHECK: scf.yield %[[Q]] : tensor<8x16xi8>
    scf.yield %q : tensor<8x32xf4E2M1FN>
  }
  default {
    // CHECK: scf.yield %[[P]] : tensor<8x16xi8>
    scf.yield %p : tensor<8x32xf4E2M1FN>
  }
  return %0 : tensor<8x32xf4E2M1FN>
}

// CHECK-LABEL: func.func @branches
func.func @branches(%q: tensor<8x32xf4E2M1FN>, %c: i1, %i: i32) -> tensor<8x32xf4E2M1FN> {
  // CHECK: cf.br ^bb1(%{{.+}} : tensor<8x16xi8>)
  cf.br ^bb1(%q : tensor<8x32xf4E2M1FN>)
// CHECK: ^bb1(%[[A:.+]]: tensor<8x16xi8>):
^bb1(%a: tensor<8x32xf4E2M1FN>):
  // CHECK: cf.cond_br %{{.+}}, ^bb1(%[[A]] : tensor<8x16xi8>), ^bb2(%[[A]] : tensor<8x16xi8>)
  cf.cond_br %c, ^bb1(%a : tensor<8x32xf4E2M1FN>), ^bb2(%a : tensor<8x32xf4E2M1FN>)
// CHECK: ^bb2(%[[B:.+]]: tensor<8x16xi8>):
^bb2(%b: tensor<8x32xf4E2M1FN>):
  // CHECK: cf.switch
  // CHECK-NEXT: default: ^bb3(%[[B]] : tensor<8x16xi8>)
  cf.switch %i : i32, [default: ^bb3(%b : tensor<8x32xf4E2M1FN>), 1: ^bb1(%b : tensor<8x32xf4E2M1FN>)]
// CHECK: ^bb3(%[[D:.+]]: tensor<8x16xi8>):
^bb3(%d: tensor<8x32xf4E2M1FN>):
  // CHECK: return %[[D]] : tensor<8x16xi8>
  return %d : tensor<8x32xf4E2M1FN>
}
