/** A thread that splits and analyses texts, so that the main one only has to put the results in place. */
import { parentPort } from 'node:worker_threads';
import { AnalysisCache } from './analysis-cache.ts';
import { encodeBlock, TermNumbers } from './snapshot-block.ts';
import type { AnalysisRequest, AnalysisReply } from './analysis-thread.ts';

/** Between requests the terms stay, so that words are looked up and not stemmed; bounded, because texts never end. */
const KEPT_TERMS = 200_000;

let cache = new AnalysisCache();

parentPort?.on('message', ({ id, texts }: AnalysisRequest) => {
  if (cache.dictionary.size > KEPT_TERMS) cache = new AnalysisCache();
  const analyses = new Set(texts.map(({ format, hash, content }) => cache.acquire(format, hash, content)));
  const block = encodeBlock(new TermNumbers(cache.dictionary), { analyses: [...analyses], files: [], deleted: [] });
  const reply: AnalysisReply = { id, block };
  parentPort?.postMessage(reply, [block.buffer as ArrayBuffer]);
});
