// A model with a session, for Java, Kotlin and Android; gapgram_jni.c is its other half.
//
//     H=$(dirname $(dirname $(readlink -f $(which javac))))/include L=build/library/manylinux_2_17_x86_64
//     cc -O2 -shared -fPIC -I$H -I$H/linux -I$L examples/library/gapgram_jni.c $L/libgapgram.a -lm -o libgapgram_jni.so
//     javac -d . examples/library/Gapgram.java
//     java -Djava.library.path=. Gapgram MODEL TEXT    how probable each line is, and what a keyboard would suggest next

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Guesses, scores and learns; for one thread at a time. Close it: its memory is not Java's. */
public final class Gapgram implements AutoCloseable {
    static {
        System.loadLibrary("gapgram_jni");
    }

    /** A word and its probability. */
    public record Guess(String word, double probability) {}

    private final long[] opened; // addresses of the model and of the session

    public Gapgram(Path model) {
        opened = open(model.toString().getBytes(UTF_8));
    }

    /** log10 of the probability of a sentence, whose words are learned after it. */
    public double learn(String sentence) {
        return score(session(), sentence.getBytes(UTF_8), true);
    }

    /** log10 of the probability of a sentence. */
    public double score(String sentence) {
        return score(session(), sentence.getBytes(UTF_8), false);
    }

    /** The k most probable words after the beginning of a sentence; of those that begin with what is typed of the next. */
    public List<Guess> predict(String before, String typed, int k) {
        long session = session();
        String[] words = before.isBlank() ? new String[0] : before.strip().split("\\s+");
        int[] context = new int[words.length + 1];
        context[0] = find(session, "<s>".getBytes(UTF_8));
        for (int i = 0; i < words.length; i++)
            context[i + 1] = find(session, words[i].getBytes(UTF_8));
        double[] probabilities = new double[k];
        int[] found = predict(session, context, typed.getBytes(UTF_8), probabilities);
        List<Guess> guesses = new ArrayList<>();
        for (int i = 0; i < found.length; i++)
            guesses.add(new Guess(new String(word(session, found[i]), UTF_8), probabilities[i]));
        return guesses;
    }

    @Override
    public void close() {
        close(opened[0], opened[1]);
        Arrays.fill(opened, 0);
    }

    private long session() {
        if (opened[1] == 0)
            throw new IllegalStateException("the model is closed");
        return opened[1];
    }

    private static native long[] open(byte[] path);
    private static native void close(long model, long session);
    private static native double score(long session, byte[] sentence, boolean learn);
    private static native int find(long session, byte[] word);
    private static native byte[] word(long session, int word);
    private static native int[] predict(long session, int[] context, byte[] typed, double[] probabilities);

    public static void main(String[] arguments) throws IOException {
        try (Gapgram model = new Gapgram(Path.of(arguments[0]))) {
            for (String line : Files.readAllLines(Path.of(arguments[1]))) {
                System.out.print(model.learn(line));
                for (Guess guess : model.predict(line, "", 3))
                    System.out.print("\t" + guess.word() + " " + guess.probability());
                System.out.println();
            }
        } catch (IllegalArgumentException said) {
            System.err.println(said.getMessage());
            System.exit(1);
        }
    }
}
