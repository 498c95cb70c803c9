// A product of two operands with scales, of a dynamic number of rows.
func.func @product(%a: tensor<?x256xf8E4M3FN>, %sa: tensor<?x8xf8E8M0FNU>, %b: tensor<256x256xf8E4M3FN>, %sb: tensor<256x8xf8E8M0FNU>) -> tensor<?x256xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32]
      : tensor<?x256xf8E4M3FN>, tensor<256x256xf8E4M3FN>, tensor<?x8xf8E8M0FNU>, tensor<256x8xf8E8M0FNU> -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}
