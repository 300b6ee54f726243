// A beam decoder: the most probable of all ways through alternatives, as a recogniser has them.
//
//     c++ decoder.cpp libgapgram.a -lm -o decoder && ./decoder MODEL "their|there is|are a bug|buck"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>
#include "gapgram.h"

namespace {

constexpr std::size_t width = 64;

void check(int code, const gapgram_error &error) {
    if (code)
        throw std::runtime_error(error.sentence);
}

struct Hypothesis {
    double log10;
    std::string words;
    std::vector<char> state;
};

// All hypotheses with a word each, in one call; of those whose states are equal, which nothing that follows can tell
// apart, the most probable is kept, and of these the most probable ones.
std::vector<Hypothesis> step(const gapgram_model *model, const std::vector<Hypothesis> &beam, const std::vector<std::string> &words) {
    const std::size_t bytes = gapgram_state_bytes(model), n = beam.size() * words.size();
    std::vector<char> states(n * bytes);
    std::vector<std::int32_t> asked(n);
    std::vector<double> scores(n);
    gapgram_error error{};
    for (std::size_t i = 0; i < n; i++) {
        const std::string &word = words[i % words.size()];
        std::memcpy(&states[i * bytes], beam[i / words.size()].state.data(), bytes);
        asked[i] = word == "</s>" ? GAPGRAM_END : gapgram_find(model, word.data(), word.size());
    }
    check(gapgram_extend_many(model, n, states.data(), asked.data(), states.data(), scores.data(), &error), error);
    std::map<std::vector<char>, Hypothesis> best;
    for (std::size_t i = 0; i < n; i++) {
        const Hypothesis &before = beam[i / words.size()];
        Hypothesis after{before.log10 + scores[i], before.words + " " + words[i % words.size()],
                         {&states[i * bytes], &states[i * bytes] + bytes}};
        const auto found = best.find(after.state);
        if (found == best.end() || found->second.log10 < after.log10)
            best[after.state] = after;
    }
    std::vector<Hypothesis> kept;
    for (auto &one : best)
        kept.push_back(std::move(one.second));
    std::sort(kept.begin(), kept.end(), [](const Hypothesis &a, const Hypothesis &b) { return a.log10 > b.log10; });
    kept.resize(std::min(kept.size(), width));
    return kept;
}

} // namespace

int main(int n_arguments, char **arguments) try {
    if (n_arguments != 3)
        throw std::runtime_error("usage: decoder MODEL \"one|other word|words\"");
    gapgram_error error{};
    gapgram_model *model = nullptr;
    check(gapgram_open(arguments[1], &model, &error), error);
    std::vector<Hypothesis> beam{{0.0, "", std::vector<char>(gapgram_state_bytes(model))}};
    check(gapgram_begin(model, 1, beam[0].state.data(), &error), error);
    std::istringstream places(arguments[2]);
    for (std::string place; places >> place;) {
        std::vector<std::string> words;
        std::istringstream ways(place);
        for (std::string word; std::getline(ways, word, '|');)
            words.push_back(word);
        beam = step(model, beam, words);
    }
    for (const Hypothesis &one : step(model, beam, {"</s>"}))
        std::printf("%9.4f%s\n", one.log10, one.words.substr(0, one.words.size() - 5).c_str());
    gapgram_close(model);
    return 0;
} catch (const std::exception &said) {
    std::fprintf(stderr, "%s\n", said.what());
    return 1;
}
