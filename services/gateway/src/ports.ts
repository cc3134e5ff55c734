/** What the gateway asks of others over the bus, in its own words. No answer is never a yes. */
import { AgentIdText, WorkspaceName } from '@svc/contract/names.ts';
import type { Policy } from '@svc/contract/policy.ts';
import { Subject } from '@svc/contract/subject.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import { z } from 'zod';
import type { VerifiedToken } from './identity.ts';

export interface Ports {
  /** The token's agent as it stands now; null = expired, revoked, unknown, or nobody there to ask. */
  verifyToken(token: string): Promise<VerifiedToken | null>;
  /** The registered agent of that name; null = unknown, or nobody there to ask. */
  agentSubject(agentId: string): Promise<Subject | null>;
  /** Policies attached to resources; none are attached before a service keeps them. */
  policiesOf(resources: readonly string[]): Promise<readonly Policy[]>;
}

const ANSWER_WITHIN_MS = 2000;

const TokenAnswer = z.object({
  agentId: AgentIdText,
  subject: Subject,
  roles: z.record(WorkspaceName, z.array(z.string())).default({}),
  org: z.string().optional(),
  plan: z.enum(['free', 'pro', 'enterprise']).optional(),
  readOnly: z.boolean().default(false),
  profile: z.string().nullable().default(null),
});

export function createPorts({ bus, clock, log }: Pick<StatelessPlatform, 'bus' | 'clock' | 'log'>): Ports {
  async function ask<Answer>(
    subject: string,
    question: Record<string, unknown>,
    schema: z.ZodType<Answer>,
  ): Promise<Answer | null> {
    try {
      const reply = await bus.request(subject, JSON.stringify(question), {
        deadlineAt: clock.now() + ANSWER_WITHIN_MS,
      });
      return schema.nullable().parse(JSON.parse(reply));
    } catch (error) {
      log.debug({ subject, reason: error instanceof Error ? error.message : 'unknown' }, 'a port got no usable answer');
      return null;
    }
  }
  return {
    verifyToken: (token) => ask('habitat.verify-token', { token }, TokenAnswer),
    agentSubject: (agentId) => ask('habitat.agent-subject', { agentId }, Subject),
    policiesOf: async () => [],
  };
}
