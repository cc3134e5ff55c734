/** What a family of questions to the registry is answered by. */
import type { RegistryAnswer, RegistryAsk, RegistryQuestion } from '@svc/contract/registry.ts';
import type { HabitatDeps } from '../deps.ts';

export type Answers<Question extends RegistryQuestion = RegistryQuestion> = {
  readonly [Key in Question]: (ask: RegistryAsk<Key>, deps: HabitatDeps) => Promise<RegistryAnswer<Key>>;
};
