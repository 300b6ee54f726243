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

static const std::size_t SIDE_BY_SIDE = 64;

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
    long n_many = 0;
    int turn = 0;
    std::vector<std::pair<const char *, std::function<double()>>> ways = {
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
    // Steps of many lines side by side, as a beam has them, until half of them are done, which ask for </s>.
    ways.emplace_back("64 steps, gapgram", [&] {
        const std::size_t bytes = gapgram_state_bytes(model);
        std::vector<char> states(SIDE_BY_SIDE * bytes);
        std::vector<double> scores(SIDE_BY_SIDE);
        std::vector<int32_t> words(SIDE_BY_SIDE);
        double sum = 0;
        for (std::size_t first = 0; first + SIDE_BY_SIDE <= own.size(); first += SIDE_BY_SIDE) {
            std::vector<std::size_t> lengths;
            for (std::size_t i = 0; i < SIDE_BY_SIDE; i++) {
                gapgram_begin(model, 1, states.data() + i * bytes, nullptr);
                lengths.push_back(own[first + i].size());
            }
            std::nth_element(lengths.begin(), lengths.begin() + SIDE_BY_SIDE / 2, lengths.end());
            for (std::size_t t = 0; t < lengths[SIDE_BY_SIDE / 2]; t++) {
                for (std::size_t i = 0; i < SIDE_BY_SIDE; i++)
                    words[i] = t < own[first + i].size() ? own[first + i][t] : int32_t(GAPGRAM_END);
                gapgram_extend_many(model, SIDE_BY_SIDE, states.data(), words.data(), states.data(), scores.data(), nullptr);
                for (const double score : scores)
                    sum += score;
                n_many += turn == 0 ? long(SIDE_BY_SIDE) : 0;
            }
        }
        return sum;
    });
    std::vector<double> best(ways.size(), 1e9), sums(ways.size());
    for (; turn < 7; turn++)
        for (std::size_t i = 0; i < ways.size(); i++)
            best[i] = std::min(best[i], seconds(ways[i].second, sums[i]));
    for (std::size_t i = 0; i < ways.size(); i++)
        std::printf("%-18s %7.1f ns a word, sum of log10 %.4f\n", ways[i].first,
                    1e9 * best[i] / double(i < 4 ? n_words : n_many), sums[i]);
    for (std::size_t i = 0; i < 4; i += 2)
        std::printf("%s: %.2f times KenLM's time\n", i ? "step" : "sentence", best[i] / best[i + 1]);
}
