/** Who presented what at the door. */
import type { Subject } from '@svc/contract/subject.ts';

export type Plan = 'free' | 'pro' | 'enterprise';

/** A token as the registry of identities rebuilt it just now. `roles`: the agent's roles in each workspace. */
export interface VerifiedToken {
  readonly agentId: string;
  readonly subject: Subject;
  readonly roles: Readonly<Record<string, readonly string[] | undefined>>;
  readonly org?: string | undefined;
  readonly plan?: Plan | undefined;
  readonly readOnly: boolean;
  readonly profile: string | null;
}

export interface Identity {
  /** `tok:<agentId>`, `key:<id>`, `local` or `anon:<address>`. */
  readonly principal: string;
  readonly operator: boolean;
  readonly token: VerifiedToken | null;
  readonly plan: Plan;
  /** Owner of the rate bucket. */
  readonly bucket: string;
}
