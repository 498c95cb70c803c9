// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @swizzle_c1_element(%s: tensor<4x8xf8E4M3FN>) {
  // expected-error @below {{expected the result element type to be 'f8E4M3FN', but got 'f8E8M0FNU'}}
  %0 = blockscale.swizzle %s : tensor<4x8xf8E4M3FN> -> tensor<4x8xf8E8M0FNU, #swizzled>
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @swizzle_c1_shape(%s: tensor<4x?xf8E4M3FN>) {
  // expected-error @below {{expected the result to have shape 4x?, but got 8x8}}
  %0 = blockscale.swizzle %s : tensor<4x?xf8E4M3FN> -> tensor<8x8xf8E4M3FN, #swizzled>
  return
}

// -----

func.func @swizzle_c2(%s: tensor<4x8xf8E4M3FN>) {
  // expected-error @below {{expected an absent encoding or a blockscale layout, but got "sparse"}}
  %0 = blockscale.swizzle %s : tensor<4x8xf8E4M3FN> -> tensor<4x8xf8E4M3FN, "sparse">
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @swizzle_c3_missing(%s: tensor<?x?xf8E4M3FN, #swizzled>, %n: index) {
  // expected-error @below {{expected one size operand for each dynamic dimension of what a swizzled source becomes, 2, but got 1}}
  %0 = blockscale.swizzle %s sizes(%n) : tensor<?x?xf8E4M3FN, #swizzled> -> tensor<?x?xf8E4M3FN>
  return
}

// -----

// Tiles of one layout do not tell what those of another have.
func.func @swizzle_c3_tiles(%s: tensor<?x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>) {
  // expected-error @below {{expected one size operand for each dynamic dimension of what a swizzled source becomes, 1, but got 0}}
  %0 = blockscale.swizzle %s : tensor<?x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>> -> tensor<?x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>
  return
}

// -----

func.func @swizzle_c4_tiles(%s: tensor<4x8xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>, %ends: tensor<2xi32>) {
  // expected-error @below {{expected the other side of a grouped layout to be linear, but got #blockscale.layout<swizzle_8x4>}}
  %0 = blockscale.swizzle %s offsets(%ends : tensor<2xi32>) : tensor<4x8xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>> -> tensor<4x8xf8E4M3FN, #blockscale.layout<swizzle_8x4>>
  return
}

// -----

// A linear source tells its sizes.
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @swizzle_c3_excess(%s: tensor<?x4xf8E4M3FN>, %n: index) {
  // expected-error @below {{expected one size operand for each dynamic dimension of what a swizzled source becomes, 0, but got 1}}
  %0 = blockscale.swizzle %s sizes(%n) : tensor<?x4xf8E4M3FN> -> tensor<?x4xf8E4M3FN, #swizzled>
  return
}

// -----

#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
func.func @swizzle_c4_missing(%s: tensor<4x8xf8E4M3FN>) {
  // expected-error @below {{expected offsets with a grouped layout on one side, but got none}}
  %0 = blockscale.swizzle %s : tensor<4x8xf8E4M3FN> -> tensor<4x8xf8E4M3FN, #grouped>
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @swizzle_c4_excess(%s: tensor<4x8xf8E4M3FN>, %ends: tensor<2xi32>) {
  // expected-error @below {{expected offsets only with a grouped layout on one side, but got offsets}}
  %0 = blockscale.swizzle %s offsets(%ends : tensor<2xi32>) : tensor<4x8xf8E4M3FN> -> tensor<4x8xf8E4M3FN, #swizzled>
  return
}

// -----

#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
func.func @swizzle_c4_count(%s: tensor<4x8xf8E4M3FN>, %ends: tensor<3xi32>) {
  // expected-error @below {{expected offsets to have shape 2, but got 3}}
  %0 = blockscale.swizzle %s offsets(%ends : tensor<3xi32>) : tensor<4x8xf8E4M3FN> -> tensor<4x8xf8E4M3FN, #grouped>
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
func.func @swizzle_c4_other_side(%s: tensor<4x8xf8E4M3FN, #swizzled>, %ends: tensor<2xi32>) {
  // expected-error @below {{expected the other side of a grouped layout to be linear, but got #blockscale.layout<swizzle_128x4>}}
  %0 = blockscale.swizzle %s offsets(%ends : tensor<2xi32>) : tensor<4x8xf8E4M3FN, #swizzled> -> tensor<4x8xf8E4M3FN, #grouped>
  return
}

// -----

#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 1>
func.func @swizzle_c5_positive(%s: tensor<4x8xf8E4M3FN>, %ends: tensor<2xi32>) {
  // expected-error @below {{expected block to be positive, but got 0}}
  %0 = blockscale.swizzle %s offsets(%ends : tensor<2xi32>) block 0 : tensor<4x8xf8E4M3FN> -> tensor<4x8xf8E4M3FN, #grouped>
  return
}

// -----

#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 1>
func.func @swizzle_c5_negative(%s: tensor<4x8xf8E4M3FN>, %ends: tensor<2xi32>) {
  // expected-error @below {{expected block to be positive, but got -16}}
  %0 = "blockscale.swizzle"(%s, %ends) <{block = -16 : i64, operandSegmentSizes = array<i32: 1, 1, 0>}>
      : (tensor<4x8xf8E4M3FN>, tensor<2xi32>) -> tensor<4x8xf8E4M3FN, #grouped>
  return
}

// -----

#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
func.func @swizzle_c5_rows(%s: tensor<4x8xf8E4M3FN>, %ends: tensor<2xi32>) {
  // expected-error @below {{expected block to be 1 without offsets of columns, but got 16}}
  %0 = blockscale.swizzle %s offsets(%ends : tensor<2xi32>) block 16 : tensor<4x8xf8E4M3FN> -> tensor<4x8xf8E4M3FN, #grouped>
  return
}

// -----

// A dynamic number of groups needs offsets, too.
#any = #blockscale.layout<swizzle_128x4, groups = ?, dim = 0>
func.func @swizzle_c4_dynamic(%s: tensor<4x8xf8E4M3FN>) {
  // expected-error @below {{expected offsets with a grouped layout on one side, but got none}}
  %0 = blockscale.swizzle %s : tensor<4x8xf8E4M3FN> -> tensor<4x8xf8E4M3FN, #any>
  return
}

// -----

// A dynamic number of groups and a known one are two layouts, though offsets may fit both.
#any = #blockscale.layout<swizzle_128x4, groups = ?, dim = 0>
#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
func.func @swizzle_c4_two_numbers(%s: tensor<4x8xf8E4M3FN, #grouped>, %ends: tensor<2xi32>) {
  // expected-error @below {{expected the other side of a grouped layout to be linear, but got #blockscale.layout<swizzle_128x4, groups = ?, dim = 0>}}
  %0 = blockscale.swizzle %s offsets(%ends : tensor<2xi32>) : tensor<4x8xf8E4M3FN, #grouped> -> tensor<4x8xf8E4M3FN, #any>
  return
}

// -----

// A cast is tensor.cast's business.
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @swizzle_c1_equal_layouts(%s: tensor<4x?xf8E4M3FN, #swizzled>) {
  // expected-error @below {{expected equal types between equal layouts, but got 'tensor<4x?xf8E4M3FN, #blockscale.layout<swizzle_128x4>>' and 'tensor<4x8xf8E4M3FN, #blockscale.layout<swizzle_128x4>>'}}
  %0 = blockscale.swizzle %s : tensor<4x?xf8E4M3FN, #swizzled> -> tensor<4x8xf8E4M3FN, #swizzled>
  return
}
