/** A model that writes passages and queries to search with. What it writes is never anything but a query. */
import { z } from 'zod';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import type { Settings } from '@svc/runtime/settings.ts';
import { createAsking } from './asking.ts';
import { askEndpoint, type Endpoint, EndpointFault } from './endpoint.ts';

const ANSWER_MS = 15_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_AT_ONCE = 4;
const MAX_TOKENS = 300;

const Answer = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string().max(20_000) }) })).min(1),
});

interface ChatParts {
  readonly settings: Pick<Settings, 'read'>;
  readonly key: string | undefined;
  /** Monotonic, in milliseconds. */
  now(): number;
}

interface ChatWish {
  /** What the model shall do with it. */
  readonly instruction: string;
  readonly query: string;
  /** Milliseconds that are left. */
  readonly remainingMs: number;
}

export function createChat({ settings, key, now }: ChatParts) {
  const asking = createAsking({ atOnce: MAX_AT_ONCE, now });
  return {
    /** What is set now; null = none. */
    async endpoint(stamp: RegistryStamp | null): Promise<Endpoint | null> {
      const [url, model] = await Promise.all([settings.read('chat.url', stamp), settings.read('chat.model', stamp)]);
      return url === null || model === null ? null : { url, model, key };
    },
    /** What the model writes, not empty. Throws EndpointFault. */
    write: (endpoint: Endpoint, wish: ChatWish): Promise<string> => asking.run('may', () => askModel(endpoint, wish)),
  };
}

async function askModel(endpoint: Endpoint, { instruction, query, remainingMs }: ChatWish): Promise<string> {
  const messages = [
    { role: 'system', content: instruction },
    { role: 'user', content: query },
  ];
  const told = await askEndpoint(endpoint, {
    path: '/chat/completions',
    body: { messages, temperature: 0, max_tokens: MAX_TOKENS },
    timeoutMs: Math.min(ANSWER_MS, remainingMs / 2),
    maxBytes: MAX_ANSWER_BYTES,
  });
  const answer = Answer.safeParse(told);
  const text = answer.data?.choices[0]?.message.content.trim() ?? '';
  if (text === '') throw new EndpointFault('unfit', answer.error);
  return text;
}
