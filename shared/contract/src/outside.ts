/** What a service can be configured to reach outside of the deployment: what is known of it, and one attempt to reach it. */
import { z } from 'zod';

export const OutsideSystem = z.strictObject({
  name: z.string(),
  kind: z.string(),
  configured: z.boolean(),
  /** Names of the settings that it lacks. */
  missing: z.array(z.string()),
});
export type OutsideSystem = z.output<typeof OutsideSystem>;

/** `detail`: what answered, such as a version or a count; never a secret. */
export const Reached = z.strictObject({ latencyMs: z.number(), detail: z.string() });
export type Reached = z.output<typeof Reached>;

export const REACH_REFUSES = ['E_AUTH', 'E_NOT_CONFIGURED', 'E_UNREACHABLE'] as const;
export type ReachDenial = (typeof REACH_REFUSES)[number];

/** So long an attempt to reach a system may take, in ms. */
export const REACHED_WITHIN_MS = 5000;
