/** One reading of a query's words for all the brains of a stack: a word that one of them has is corrected in none. */
import { allow, type Decision } from '@svc/contract/decision.ts';
import { stem } from '../search/stem.ts';
import { nearestMeant } from '../search/corrections.ts';
import type { Correction, MeantWord } from '../search/search-answer.ts';

/** How one brain read the words by itself. */
interface OwnReading {
  /** Words that it does not have. */
  readonly absent: readonly string[];
  readonly corrected: readonly Correction[];
}

/** Null = each as it is. */
function decideMeaning(word: string, readings: readonly OwnReading[]): MeantWord {
  if (!readings.every(({ absent }) => absent.includes(word))) return { word, as: null };
  const found = readings.flatMap(({ corrected }) => corrected.filter((one) => one.word === word).map(({ as }) => as));
  return { word, as: nearestMeant(stem(word), found) };
}

function agreedWords(readings: readonly OwnReading[]): MeantWord[] {
  const words = new Set(readings.flatMap(({ corrected }) => corrected.map(({ word }) => word)));
  return Array.from(words, (word) => decideMeaning(word, readings));
}

function isAsAgreed({ corrected }: OwnReading, agreed: readonly MeantWord[]): boolean {
  const meant = new Map(agreed.map(({ word, as }) => [word, as]));
  return corrected.every(({ word, as }) => meant.get(word) === as);
}

interface Agreed<Answer> {
  readonly answers: readonly Answer[];
  readonly corrected: readonly Correction[];
}

/** Asks every target; those that read a word in another way than all together are asked again with what was agreed. */
export async function askAgreed<Asked, Answer extends OwnReading, Code extends string>(
  targets: readonly Asked[],
  ask: (target: Asked, meant: { readonly meant?: readonly MeantWord[] }) => Promise<Decision<Answer, Code>>,
): Promise<Decision<Agreed<Answer>, Code>> {
  const answers: Answer[] = [];
  for (const target of targets) {
    const answer = await ask(target, {});
    if (!answer.ok) return answer;
    answers.push(answer.value);
  }
  const agreed = agreedWords(answers);
  for (const [place, target] of targets.entries()) {
    const own = answers[place];
    if (own === undefined || isAsAgreed(own, agreed)) continue;
    const answer = await ask(target, { meant: agreed });
    if (!answer.ok) return answer;
    answers[place] = answer.value;
  }
  const corrected = agreed.flatMap(({ word, as }) => (as === null ? [] : [{ word, as }]));
  return allow({ answers, corrected });
}
