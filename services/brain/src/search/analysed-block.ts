import type { AnalysisCache } from './analysis-cache.ts';
import type { TextToAnalyse } from './analysis-thread.ts';
import { encodeBlock, TermNumbers } from './snapshot-block.ts';

/** The analyses of some texts as bytes that stand for themselves. Their terms stay in the cache, and nothing else of them. */
export function analysedBlock(cache: AnalysisCache, texts: readonly TextToAnalyse[]): Uint8Array {
  const analyses = new Set(texts.map(({ format, hash, content }) => cache.acquire(format, hash, content)));
  const block = encodeBlock(new TermNumbers(cache.dictionary), { analyses: [...analyses], files: [], deleted: [] });
  cache.shed();
  return block;
}
