/* What Gapgram.java declares: libgapgram for the JVM. */

#include <jni.h>
#include <stdlib.h>
#include "gapgram.h"

static void *at(jlong address) {
    return (void *)(intptr_t)address;
}

/* Let Java throw what the library says; whether there is anything. */
static int thrown(JNIEnv *env, int status, const gapgram_error *error) {
    if (status)
        (*env)->ThrowNew(env, (*env)->FindClass(env, "java/lang/IllegalArgumentException"), error->sentence);
    return status;
}

/* A copy of bytes, with a zero behind them; null, and an exception, without memory. */
static char *copied(JNIEnv *env, jbyteArray bytes, size_t *n) {
    char *text = malloc((*n = (size_t)(*env)->GetArrayLength(env, bytes)) + 1);
    if (!text)
        thrown(env, GAPGRAM_NO_MEMORY, &(gapgram_error){GAPGRAM_NO_MEMORY, "not enough memory"});
    else
        (*env)->GetByteArrayRegion(env, bytes, 0, (jsize)*n, (jbyte *)text), text[*n] = 0;
    return text;
}

JNIEXPORT jlongArray JNICALL Java_Gapgram_open(JNIEnv *env, jclass own, jbyteArray bytes) {
    gapgram_model *model = 0;
    gapgram_session *session = 0;
    gapgram_error error = {0, ""};
    size_t n;
    char *path = copied(env, bytes, &n);
    int status = !path || gapgram_open(path, &model, &error) || gapgram_session_open(model, 0, &session, &error);
    free(path);
    if (status) {
        gapgram_close(model);
        if (path)
            thrown(env, status, &error);
        return 0;
    }
    jlongArray opened = (*env)->NewLongArray(env, 2);
    if (opened)
        (*env)->SetLongArrayRegion(env, opened, 0, 2, (jlong[]){(intptr_t)model, (intptr_t)session});
    return opened;
}

JNIEXPORT void JNICALL Java_Gapgram_close(JNIEnv *env, jclass own, jlong model, jlong session) {
    gapgram_session_close(at(session));
    gapgram_close(at(model));
}

JNIEXPORT jdouble JNICALL Java_Gapgram_score(JNIEnv *env, jclass own, jlong session, jbyteArray bytes, jboolean learn) {
    gapgram_error error;
    double log10 = 0.0;
    size_t n;
    char *text = copied(env, bytes, &n);
    if (text)
        thrown(env, gapgram_session_score(at(session), text, n, learn, &log10, &error), &error);
    free(text);
    return log10;
}

JNIEXPORT jint JNICALL Java_Gapgram_find(JNIEnv *env, jclass own, jlong session, jbyteArray bytes) {
    size_t n;
    char *word = copied(env, bytes, &n);
    jint found = word ? gapgram_session_find(at(session), word, n) : 0;
    free(word);
    return found;
}

JNIEXPORT jbyteArray JNICALL Java_Gapgram_word(JNIEnv *env, jclass own, jlong session, jint word) {
    size_t n;
    const char *text = gapgram_session_word(at(session), word, &n);
    jbyteArray bytes = (*env)->NewByteArray(env, (jsize)n);
    if (bytes && text)
        (*env)->SetByteArrayRegion(env, bytes, 0, (jsize)n, (const jbyte *)text);
    return bytes;
}

JNIEXPORT jintArray JNICALL Java_Gapgram_predict(
    JNIEnv *env, jclass own, jlong session, jintArray context, jbyteArray typed, jdoubleArray probabilities) {
    gapgram_error error;
    size_t n_typed, n = 0, k = (size_t)(*env)->GetArrayLength(env, probabilities);
    char *text = copied(env, typed, &n_typed);
    gapgram_wanted wanted = {.prefix = text, .prefix_bytes = n_typed};
    gapgram_guess *guesses = text ? calloc(k + 1, sizeof *guesses) : 0;
    jint *ids = guesses ? (*env)->GetIntArrayElements(env, context, 0) : 0;
    jintArray words = 0;
    if (ids) {
        size_t seen = (size_t)(*env)->GetArrayLength(env, context);
        if (!thrown(env, gapgram_session_predict(at(session), (int32_t *)ids, seen, k, &wanted, guesses, &n, &error), &error))
            words = (*env)->NewIntArray(env, (jsize)n);
        (*env)->ReleaseIntArrayElements(env, context, ids, JNI_ABORT);
    }
    for (jsize i = 0; words && i < (jsize)n; i++) {
        (*env)->SetIntArrayRegion(env, words, i, 1, &(jint){guesses[i].word});
        (*env)->SetDoubleArrayRegion(env, probabilities, i, 1, &guesses[i].probability);
    }
    free(guesses);
    free(text);
    return words;
}
