// A record of choices that blockscale-choose-schedules did not write is refused where a plan is made.
// RUN: not blockscale-compile %s --target=sm_80 --emit=plan -o /dev/null 2>&1 | FileCheck %s
// RUN: sed 's/schedule = 3/schedule = #blockscale.gemm_schedule<rows = 16, cols = 128, stages = 1, band = 1, ctas = 1>/' %s | blockscale-compile - --target=sm_80 --emit=plan -o - | FileCheck %s --check-prefix=RIGHT

// CHECK: error: expected 'blockscale.choices' to be choices as blockscale-choose-schedules writes them, but got {function = "f"{{.*}}schedule = 3
// RIGHT: "schedule": {"rows":16,"cols":128,"stages":1,"band":1,"ctas":1,"multicast":1,"splits":1},
module attributes {blockscale.choices = [{function = "f", key = {m = "16"}, name = "m16", schedule = 3, source = "model"}]} {
  func.func @f(%x: tensor<16x16xbf16>) -> tensor<16x16xbf16> {
    return %x : tensor<16x16xbf16>
  }
}
