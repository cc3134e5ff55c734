/** How an event is declared. */
import { z } from 'zod';

/**
 * Who hears an event: `public` everyone; `readers` whoever may read its resources; `members` and `admins` those of its
 * workspace; `parties` those its payload names in `parties`, which is not delivered; `operator` nobody else.
 * An operator hears all of them.
 */
const Audience = z.enum(['public', 'readers', 'members', 'admins', 'parties', 'operator']);
export type Audience = z.output<typeof Audience>;

export interface EventDeclaration {
  readonly service: string;
  readonly meaning: string;
  readonly audience: Audience;
  readonly payload: z.ZodObject;
}

export const by = z.string().describe('Actor.');
/**
 * Ids of identities; of organisations, for whoever may read their accounts; `ws:<workspace>`, for all with a role there;
 * `in:` and `team:`, `dept:` or `org:` and an id, for who belongs there; `*` for everybody.
 */
export const parties = z.array(z.string()).describe('Who hears it; not delivered.');
