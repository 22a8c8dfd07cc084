/* model.h -- what a vt_model is: a checkpoint, the record of its run, its
 * tokenizer, and the kernels and threads that it is to be run with.
 */
#ifndef API_MODEL_H
#define API_MODEL_H

#include "model/checkpoint.h"
#include "model/gpt.h"
#include "tokenizer/bpe.h"
#include "train/run_record.h"

struct vt_model {
    checkpoint  c;
    run_record  record;         /* where c.has_state */
    bpe        *tokenizer;
    const ops  *kernels;
    int         threads, seq;   /* seq: the window that it was trained on */
    bool        seq_known;      /* else seq is all its positions */
};

/* The sha256 of state.safetensors; "" where there is none.  Made from all its bytes each
 * time: for those who show it. */
void model_state_sha256(const vt_model *m, char hash[65]);

#endif
