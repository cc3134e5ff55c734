/** Turns texts into analyses: small work here and in slices, large work on a thread of its own. */
import type { AnalysedFile } from './analysed-file.ts';
import type { AnalysisCache } from './analysis-cache.ts';
import type { AnalysisThread, TextToAnalyse } from './analysis-thread.ts';
import { RestoredTerms } from './snapshot-block.ts';
import { Slices } from '../thread/slices.ts';

/** UTF-16 units that are analysed in a few slices of the main thread. */
const SMALL_WORK = 64 * 1024;

/** One hold on each analysis, in the order of the texts; equal texts share one. */
export async function analyseTexts(
  cache: AnalysisCache,
  thread: AnalysisThread,
  texts: readonly TextToAnalyse[],
): Promise<AnalysedFile[]> {
  const unknown = texts.filter(({ format, hash }) => !cache.has(format, hash));
  const isLarge = unknown.reduce((sum, { content }) => sum + content.length, 0) > SMALL_WORK;
  const block = isLarge ? await thread.analyse(unknown) : null;
  const terms = new RestoredTerms(cache.dictionary);
  const made = block === null ? [] : [...block.restore(cache, terms, () => true).values()];
  terms.release();
  const slices = new Slices();
  const analyses: AnalysedFile[] = [];
  for (const { format, hash, content } of texts) {
    analyses.push(cache.acquire(format, hash, content));
    if (slices.isOver) await slices.pause();
  }
  for (const analysed of made) cache.release(analysed);
  return analyses;
}
