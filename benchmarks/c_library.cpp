// Sentences and steps with libgapgram and with KenLM's C++, by turns in one program.
//
//     c++ -O3 -march=native -DKENLM_MAX_ORDER=6 -I$KENLM -Ibuild/library/manylinux_2_17_x86_64 benchmarks/c_library.cpp \
//       build/library/manylinux_2_17_x86_64/libgapgram.a $KENLM/build/lib/libkenlm.a $KENLM/build/lib/libkenlm_util.a -lz -lbz2 -llzma \
//       -o c_library && ./c_library MODEL KENLM_BINARY TEXT

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <vector>
#include "gapgram.h"
#include "lm/model.hh"

static double seconds(const std::function<double()> &act, double &sum) {
    const std::clock_t begin = std::clock();
    sum = act();
    return double(std::clock() - begin) / CLOCKS_PER_SEC;
}

int main(int n, char **arguments) {
    gapgram_error error{};
    gapgram_model *model;
    if (n != 4 || gapgram_open(arguments[1], &model, &error)) {
        std::fprintf(stderr, "usage: c_library MODEL KENLM_BINARY TEXT; %s\n", error.sentence);
        return 1;
    }
    const lm::ngram::ProbingModel kenlm(arguments[2]);
    std::vector<std::string> lines;
    std::ifstream text(arguments[3]);
    for (std::string line; std::getline(text, line);)
        lines.push_back(line);
    const auto words_of = [](const std::string &line, const std::function<void(const char *, std::size_t)> &word) {
        for (std::size_t at = 0; at < line.size();) {
            const std::size_t end = std::min(line.find(' ', at), line.size());
            if (end > at)
                word(line.data() + at, end - at);
            at = end + 1;
        }
    };
    std::vector<std::vector<int32_t>> own;
    std::vector<std::vector<lm::WordIndex>> theirs;
    long n_words = 0;
    for (const std::string &line : lines) {
        own.emplace_back();
        theirs.emplace_back();
        words_of(line, [&](const char *word, std::size_t bytes) {
            own.back().push_back(gapgram_find(model, word, bytes));
            theirs.back().push_back(kenlm.GetVocabulary().Index(StringPiece(word, bytes)));
        });
        n_words += long(own.back().size());
    }
    const std::vector<std::pair<const char *, std::function<double()>>> ways = {
        {"sentence, gapgram", [&] {
             double sum = 0, score = 0;
             for (const std::string &line : lines)
                 sum += gapgram_score(model, line.data(), line.size(), 1, 1, &score, nullptr) ? 0 : score;
             return sum;
         }},
        {"sentence, KenLM", [&] {
             double sum = 0;
             for (const std::string &line : lines) {
                 lm::ngram::State state = kenlm.BeginSentenceState(), after;
                 words_of(line, [&](const char *word, std::size_t bytes) {
                     sum += kenlm.FullScore(state, kenlm.GetVocabulary().Index(StringPiece(word, bytes)), after).prob;
                     state = after;
                 });
                 sum += kenlm.FullScore(state, kenlm.GetVocabulary().EndSentence(), after).prob;
             }
             return sum;
         }},
        {"step, gapgram", [&] {
             std::vector<uint64_t> state(gapgram_state_bytes(model) / 8 + 1), after(state);
             double sum = 0, score = 0;
             for (const auto &line : own) {
                 gapgram_begin(model, 1, state.data(), nullptr);
                 for (const int32_t word : line) {
                     gapgram_extend(model, state.data(), word, after.data(), &score, nullptr, nullptr);
                     sum += score;
                     std::swap(state, after);
                 }
             }
             return sum;
         }},
        {"step, KenLM", [&] {
             double sum = 0;
             for (const auto &line : theirs) {
                 lm::ngram::State state = kenlm.BeginSentenceState(), after;
                 for (const lm::WordIndex word : line) {
                     sum += kenlm.FullScore(state, word, after).prob;
                     state = after;
                 }
             }
             return sum;
         }},
    };
    std::vector<double> best(ways.size(), 1e9), sums(ways.size());
    for (int turn = 0; turn < 7; turn++)
        for (std::size_t i = 0; i < ways.size(); i++)
            best[i] = std::min(best[i], seconds(ways[i].second, sums[i]));
    for (std::size_t i = 0; i < ways.size(); i++)
        std::printf("%-18s %7.1f ns a word, sum of log10 %.4f%s", ways[i].first, 1e9 * best[i] / double(n_words), sums[i],
                    i % 2 ? "" : "\n");
    for (std::size_t i = 0; i < ways.size(); i += 2)
        std::printf("%s: %.2f times KenLM's time\n", i ? "\nstep" : "\nsentence", best[i] / best[i + 1]);
}
