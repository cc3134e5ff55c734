/** What a process needs to search by meaning: the endpoints that are set up, and the vectors of its brains. */
import type { Platform } from '@svc/runtime/platform.ts';
import type { RegistryClient } from '@svc/runtime/registry.ts';
import type { Settings } from '@svc/runtime/settings.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';
import type { OpenBrain } from '../brain/open-brain.ts';
import type { RowRules } from '../ports.ts';
import { createChat } from './chat.ts';
import { createEmbedder } from './embedder.ts';
import { PassageVectors } from './passage-vectors.ts';
import { VectorFiller } from './vector-filler.ts';

interface MeaningParts {
  readonly platform: Pick<Platform, 'config' | 'log' | 'clock'>;
  readonly store: Pick<ServiceStore, 'client'>;
  readonly rules: RowRules;
  readonly settings: Settings;
  readonly registry: Pick<RegistryClient<'brain'>, 'revision'>;
  openBrains(): readonly OpenBrain[];
}

export type Meaning = ReturnType<typeof createMeaning>;

const MEBIBYTE = 1024 * 1024;

export function createMeaning({ platform, store: { client }, rules, settings, registry, openBrains }: MeaningParts) {
  const { config, log, clock } = platform;
  const now = (): number => performance.now();
  const embedder = createEmbedder({ settings, key: config.SVC_EMBED_KEY, now });
  const vectors = new PassageVectors(client, {
    maxBytes: config.SVC_VECTOR_MEMORY_MIB * MEBIBYTE,
    now: () => clock.now(),
  });
  const filler = new VectorFiller({
    client,
    embedder,
    rules,
    vectors,
    openBrains,
    stamp: async () => (await registry.revision()).stamp,
    now,
    onProblem: (brain, err) => log.warn({ err, brain }, 'the vectors of a brain could not be brought up to date'),
  });
  return { embedder, chat: createChat({ settings, key: config.SVC_CHAT_KEY, now }), vectors, filler };
}
