/** What a family of questions to the registry is answered by. */
import {
  ASKED_WITHIN_MS,
  type RegistryAnswer,
  type RegistryAsk,
  type RegistryQuestion,
} from '@svc/contract/registry.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { HabitatDeps } from '../deps.ts';
import type { HabitatCall } from '../store/unit.ts';

export type Answers<Question extends RegistryQuestion = RegistryQuestion> = {
  readonly [Key in Question]: (ask: RegistryAsk<Key>, deps: HabitatDeps) => Promise<RegistryAnswer<Key>>;
};

/** Nobody's call: the service that asks has judged whose wish it is, or tells what has happened. */
export function onBehalfOfNobody({ clock }: Pick<Platform, 'clock'>): HabitatCall {
  return {
    caller: { subject: {}, operator: false, token: null, deadlineAt: clock.now() + ASKED_WITHIN_MS },
    idempotency: null,
  };
}
