//===- PolicyTest.cpp - Policies for layers, from C -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale-c/Policy.h"

#include "gtest/gtest.h"

#include <cstring>
#include <fstream>
#include <memory>
#include <string>

namespace {

struct Destroy {
  void operator()(blockscale_policy *policy) const {
    blockscale_policy_destroy(policy);
  }
  void operator()(const blockscale_policy_decision *decision) const {
    blockscale_policy_decision_destroy(decision);
  }
};
using Policy = std::unique_ptr<blockscale_policy, Destroy>;
using Decision = std::unique_ptr<const blockscale_policy_decision, Destroy>;

constexpr char kPolicy[] = R"({"version": 1, "rules": [
  {"match": {"location": "*.gate"}, "leave": true},
  {"match": {"n": {"min": 64}}, "format": "nvfp4", "rht": true, "cast": "bf16",
   "weights": {"sweep": true},
   "activations": {"global_scale": {"amax": 4.0}}},
  {"match": {"function": "forward"}, "format": "mxfp8", "recipe": "floor",
   "weight_only": true, "order": "chain"}
]})";

Policy parse(const std::string &text) {
  blockscale_policy *policy = nullptr;
  EXPECT_EQ(blockscale_policy_parse(text.data(), text.size(), "p", &policy),
            BLOCKSCALE_OK)
      << blockscale_last_error();
  return Policy(policy);
}

blockscale_layer getLayer(const char *name, int64_t n, int64_t k,
                          const char *type) {
  blockscale_layer layer = {};
  layer.struct_size = sizeof(layer);
  layer.name = name;
  layer.n = n;
  layer.k = k;
  layer.type = type;
  return layer;
}

Decision decide(const Policy &policy, const blockscale_layer &layer) {
  const blockscale_policy_decision *decision = nullptr;
  EXPECT_EQ(blockscale_policy_decide(policy.get(), &layer, &decision),
            BLOCKSCALE_OK)
      << blockscale_last_error();
  return Decision(decision);
}

void expectError(blockscale_status status, const std::string &message) {
  EXPECT_EQ(status, BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(blockscale_last_error(), message);
}

TEST(PolicyTest, FormsOfRules) {
  Policy policy = parse(kPolicy);
  Decision decision = decide(policy, getLayer("up", 64, 32, "f32"));
  EXPECT_TRUE(decision->is_quantized);
  EXPECT_STREQ(decision->rule, "rule 2 of p");
  EXPECT_STREQ(decision->clause, "");
  const blockscale_layer_form &form = decision->form;
  EXPECT_STREQ(form.weight.format, "nvfp4");
  EXPECT_STREQ(form.weight.recipe, "modelopt");
  EXPECT_EQ(form.weight.scaling, BLOCKSCALE_DYNAMIC_GLOBAL_SCALE);
  EXPECT_TRUE(form.weight.is_swept);
  EXPECT_EQ(form.activation.recipe, nullptr);
  EXPECT_EQ(form.activation.scaling, BLOCKSCALE_GLOBAL_SCALE_OF_AMAX);
  EXPECT_EQ(form.activation.amax, 4.0f);
  EXPECT_FALSE(form.activation.is_swept);
  EXPECT_TRUE(form.is_transformed);
  EXPECT_STREQ(form.cast, "bf16");
  EXPECT_STREQ(form.order, "free");

  decision = decide(policy, getLayer("up", 63, 32, "bf16"));
  EXPECT_TRUE(decision->is_quantized);
  EXPECT_STREQ(decision->form.weight.recipe, "floor");
  EXPECT_EQ(decision->form.weight.scaling, BLOCKSCALE_NO_GLOBAL_SCALE);
  EXPECT_EQ(decision->form.activation.format, nullptr);
  EXPECT_EQ(decision->form.cast, nullptr);
  EXPECT_STREQ(decision->form.order, "chain");
}

TEST(PolicyTest, ClausesOfLayersThatAreLeft) {
  Policy policy = parse(kPolicy);
  struct {
    blockscale_layer layer;
    const char *rule, *clause, *found;
  } cases[] = {
      {getLayer("mlp.gate", 64, 32, "bf16"), "rule 1 of p", "policy_c1",
       "rule 1 of p, which leaves it"},
      {getLayer("up", 31, 32, "bf16"), "rule 3 of p", "policy_c3", "31"},
      {getLayer("up", 64, 40, "bf16"), "rule 2 of p", "policy_c4", "40"},
      {getLayer("up", 63, 32, "f16"), "rule 3 of p", "policy_c5", "f16"},
      {getLayer("up", 64, 32, "f16"), "rule 2 of p", "policy_c6", "f16"},
  };
  for (const auto &each : cases) {
    Decision decision = decide(policy, each.layer);
    EXPECT_FALSE(decision->is_quantized);
    EXPECT_STREQ(decision->rule, each.rule);
    EXPECT_STREQ(decision->clause, each.clause);
    EXPECT_STREQ(decision->found, each.found);
    EXPECT_STRNE(decision->expected, "");
  }
  blockscale_layer last = getLayer("head", 64, 32, "bf16");
  last.is_last = 1;
  EXPECT_STREQ(decide(policy, last)->clause, "policy_c2");
  blockscale_layer other = getLayer("up", 63, 32, "bf16");
  other.function = "encode";
  EXPECT_STREQ(decide(policy, other)->clause, "policy_c1");
  EXPECT_STREQ(decide(policy, other)->rule, "");
}

TEST(PolicyTest, RowsOfLayers) {
  Policy policy = parse(R"({"version": 1, "rules": [
    {"match": {"m": {"max": 16}}, "format": "nvfp4", "weight_only": true},
    {"match": {"m": {"min": 33}}, "format": "mxfp8"},
    {"format": "nvfp4"}
  ]})");
  blockscale_layer layer = getLayer("up", 64, 64, "bf16");
  struct {
    int64_t m;
    const char *rule;
    int64_t last;
  } cases[] = {{1, "rule 1 of p", 16},         {16, "rule 1 of p", 16},
               {17, "rule 3 of p", 32},        {32, "rule 3 of p", 32},
               {33, "rule 2 of p", INT64_MAX}, {4096, "rule 2 of p", INT64_MAX},
               {0, "rule 3 of p", INT64_MAX}};
  for (const auto &each : cases) {
    layer.m = each.m;
    Decision decision = decide(policy, layer);
    EXPECT_TRUE(decision->is_quantized);
    EXPECT_STREQ(decision->rule, each.rule) << each.m;
    EXPECT_EQ(decision->max_m, each.last) << each.m;
  }
  layer.m = -1;
  const blockscale_policy_decision *decision = nullptr;
  expectError(blockscale_policy_decide(policy.get(), &layer, &decision),
              "expected m from 0 on, but got -1");
  // A layer of a caller that does not know rows has any.
  layer.struct_size = offsetof(blockscale_layer, m);
  EXPECT_STREQ(decide(policy, layer)->rule, "rule 3 of p");
}

TEST(PolicyTest, FormsAreCheckedWithoutAPolicy) {
  blockscale_layer_form form = {};
  form.weight.format = "mxfp8";
  const blockscale_policy_decision *made = nullptr;
  ASSERT_EQ(blockscale_layer_form_check(&form, "bf16", &made), BLOCKSCALE_OK);
  Decision decision(made);
  EXPECT_TRUE(decision->is_quantized);
  EXPECT_STREQ(decision->form.weight.format, "mxfp8");
  ASSERT_EQ(blockscale_layer_form_check(&form, "f32", &made), BLOCKSCALE_OK);
  decision.reset(made);
  EXPECT_STREQ(decision->clause, "policy_c5");
  form.cast = "bf16";
  ASSERT_EQ(blockscale_layer_form_check(&form, "f32", &made), BLOCKSCALE_OK);
  decision.reset(made);
  EXPECT_TRUE(decision->is_quantized);
}

TEST(PolicyTest, FilesAreRead) {
  std::string path = testing::TempDir() + "/blockscale-policy.json";
  std::ofstream(path) << kPolicy;
  blockscale_policy *read = nullptr;
  ASSERT_EQ(blockscale_policy_open(path.c_str(), &read), BLOCKSCALE_OK)
      << blockscale_last_error();
  Policy policy(read);
  EXPECT_EQ(decide(policy, getLayer("up", 64, 32, "bf16"))->rule,
            "rule 2 of " + path);
  std::ofstream(path) << "{\"version\": 2, \"rules\": []}";
  EXPECT_NE(blockscale_policy_open(path.c_str(), &read), BLOCKSCALE_OK);
  EXPECT_EQ(blockscale_last_error(),
            path + ":1:13: expected version 1, but got 2");
  std::string large(size_t{2} << 20, ' ');
  EXPECT_NE(blockscale_policy_parse(large.data(), large.size(), "p", &read),
            BLOCKSCALE_OK);
  EXPECT_STREQ(blockscale_last_error(),
               "p: expected a policy of up to 1048576 bytes, but got 2097152");
  EXPECT_EQ(blockscale_policy_open("/nowhere/policy.json", &read),
            BLOCKSCALE_FILE);
  std::remove(path.c_str());
}

TEST(PolicyTest, WrongArguments) {
  Policy policy = parse(kPolicy);
  const blockscale_policy_decision *decision = nullptr;
  blockscale_layer layer = getLayer("up", 64, 32, "bf16");
  expectError(blockscale_policy_decide(nullptr, &layer, &decision),
              "expected policy to be a pointer, but got null");
  expectError(blockscale_policy_decide(policy.get(), nullptr, &decision),
              "expected layer to be a pointer, but got null");
  layer.type = "f64";
  expectError(blockscale_policy_decide(policy.get(), &layer, &decision),
              "expected type to be one of bf16, f16, f32, but got 'f64'");
  layer = getLayer("up", -1, 32, "bf16");
  expectError(blockscale_policy_decide(policy.get(), &layer, &decision),
              "expected n and k from 0 on, but got -1 and 32");
  layer = getLayer(nullptr, 64, 32, "bf16");
  expectError(blockscale_policy_decide(policy.get(), &layer, &decision),
              "expected name to be a pointer, but got null");
  layer = getLayer("up", 64, 32, "bf16");
  layer.struct_size = 3;
  EXPECT_EQ(blockscale_policy_decide(policy.get(), &layer, &decision),
            BLOCKSCALE_INVALID_ARGUMENT);
  blockscale_layer_form form = {};
  expectError(blockscale_layer_form_check(&form, "bf16", &decision),
              "expected a weight with a format, but got none");
  form.weight.format = "fp4";
  EXPECT_EQ(blockscale_layer_form_check(&form, "bf16", &decision),
            BLOCKSCALE_INVALID_ARGUMENT);
  form.weight.format = "nvfp4";
  form.cast = "f32";
  expectError(blockscale_layer_form_check(&form, "bf16", &decision),
              "expected cast to be one of bf16, f16, but got 'f32'");
  EXPECT_EQ(decision, nullptr);
}

// A character is a code point, also in brackets and between others.
TEST(PolicyTest, PatternsOfCharacters) {
  struct {
    const char *pattern, *name;
    bool matches;
  } cases[] = {
      {"a?b", "a\u00E9b", true},
      {"a??b", "a\u00E9b", false},
      {"[\u00E9]", "\u00E9", true},
      {"[\u00E9]", "\u00E8", false},
      {"[!\u00E9]", "\u65E5", true},
      {"[\u00E0-\u00FC]", "\u00F6", true},
      {"[\u00E0-\u00FC]", "\u00FF", false},
      {"[\u00E0-\u00FC]", "\u00DF", false},
      {"*\u00E9", "x\u65E5\u00E9", true},
      {"{\u00E9,b}c", "\u00E9c", true},
      {"?", "\xFF", true},
      {"??", "\xC3\x28", true},
      {"\u00E9", "\xC3", false},
  };
  for (const auto &each : cases) {
    int matches = -1;
    ASSERT_EQ(blockscale_pattern_matches(each.pattern, each.name, &matches),
              BLOCKSCALE_OK);
    EXPECT_EQ(matches, each.matches) << each.pattern << " and " << each.name;
  }
  int matches = -1;
  expectError(blockscale_pattern_matches("[a", "a", &matches),
              "invalid glob pattern, unmatched '['");
  std::string many;
  for (int i = 0; i < 64; ++i)
    many += {'\xC4', static_cast<char>(0x80 + i)};
  expectError(blockscale_pattern_matches(many.c_str(), "a", &matches),
              "expected at most 63 different characters that are not ASCII, "
              "but got 64");
  many.resize(size_t{2} * 63);
  EXPECT_EQ(blockscale_pattern_matches(many.c_str(), many.c_str(), &matches),
            BLOCKSCALE_OK);
  EXPECT_EQ(matches, 1);
}

} // namespace
