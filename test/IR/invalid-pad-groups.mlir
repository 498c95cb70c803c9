// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @pad_groups_c1_rank(%x: tensor<2x96x40xbf16>, %o: tensor<3xi32>) {
  // expected-error @below {{expected x to have rank 2 with offsets, but got rank 3}}
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 32 : tensor<2x96x40xbf16> -> tensor<2x160x40xbf16>
  return
}

// -----

func.func @pad_groups_c1_encoding(%x: tensor<96x40xbf16, "sparse">, %o: tensor<3xi32>) {
  // expected-error @below {{expected x to have no encoding, but got "sparse"}}
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 32 : tensor<96x40xbf16, "sparse"> -> tensor<160x40xbf16>
  return
}

// -----

func.func @pad_groups_c1_offsets(%x: tensor<96x40xbf16>, %o: tensor<3x1xi32>) {
  // expected-error @below {{expected offsets to have rank 1, but got rank 2}}
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3x1xi32>) unit 32 : tensor<96x40xbf16> -> tensor<160x40xbf16>
  return
}

// -----

func.func @pad_groups_c2_least(%x: tensor<96x40xbf16>, %o: tensor<3xi32>) {
  // expected-error @below {{expected unit to be from 1 to 65536, but got 0}}
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 0 : tensor<96x40xbf16> -> tensor<160x40xbf16>
  return
}

// -----

func.func @pad_groups_c2_most(%x: tensor<96x40xbf16>, %o: tensor<3xi32>) {
  // expected-error @below {{expected unit to be from 1 to 65536, but got 65537}}
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 65537 : tensor<96x40xbf16> -> tensor<?x40xbf16>
  return
}

// -----

func.func @pad_groups_c3_rows(%x: tensor<96x40xbf16>, %o: tensor<3xi32>) {
  // expected-error @below {{expected the result to have shape 160x40, but got 192x40}}
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 32 : tensor<96x40xbf16> -> tensor<192x40xbf16>
  return
}

// -----

func.func @pad_groups_c3_columns(%x: tensor<?x40xbf16>, %o: tensor<3xi32>) {
  // expected-error @below {{expected the result to have shape ?x40, but got ?x48}}
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 32 : tensor<?x40xbf16> -> tensor<?x48xbf16>
  return
}

// -----

func.func @pad_groups_c3_element(%x: tensor<96x40xbf16>, %o: tensor<3xi32>) {
  // expected-error @below {{expected the result element type to be 'bf16', but got 'f32'}}
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 32 : tensor<96x40xbf16> -> tensor<160x40xf32>
  return
}

// -----

func.func @pad_groups_c3_encoding(%x: tensor<96x40xbf16>, %o: tensor<3xi32>) {
  // expected-error @below {{expected the result to have no encoding, but got "sparse"}}
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 32 : tensor<96x40xbf16> -> tensor<160x40xbf16, "sparse">
  return
}

// -----

func.func @pad_groups_c4_rows_of_x(%x: tensor<2147483648x40xbf16>, %o: tensor<3xi32>) {
  // expected-error @below {{expected the number of rows of x to be below 2147483648, but got 2147483648}}
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 1 : tensor<2147483648x40xbf16> -> tensor<2147483648x40xbf16>
  return
}

// -----

func.func @pad_groups_c4_groups(%x: tensor<96x40xbf16>, %o: tensor<9223372036854775807xi32>) {
  // expected-error @below {{expected the number of groups to be below 2147483648, but got 9223372036854775807}}
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<9223372036854775807xi32>) unit 32 : tensor<96x40xbf16> -> tensor<?x40xbf16>
  return
}

// -----

func.func @pad_groups_c4_rows(%x: tensor<2147483647x40xbf16>, %o: tensor<3xi32>) {
  // expected-error @below {{expected the number of rows of the result to be below 2147483648, but got 2147483712}}
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 32 : tensor<2147483647x40xbf16> -> tensor<2147483712x40xbf16>
  return
}
