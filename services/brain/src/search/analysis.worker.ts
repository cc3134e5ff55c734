/** A thread that splits and analyses texts, so that the main one only has to put the results in place. */
import { answerQuestions } from '../thread/answer-questions.ts';
import { AnalysisCache } from './analysis-cache.ts';
import type { TextToAnalyse } from './analysis-thread.ts';
import { analysedBlock } from './analysed-block.ts';

/** Between requests the terms stay, so that words are looked up and not stemmed; bounded, because texts never end. */
const KEPT_TERMS = 200_000;

let cache = new AnalysisCache();

answerQuestions(
  (texts: readonly TextToAnalyse[]): Uint8Array => {
    if (cache.dictionary.size > KEPT_TERMS) cache = new AnalysisCache();
    return analysedBlock(cache, texts);
  },
  (block) => [block.buffer as ArrayBuffer],
);
