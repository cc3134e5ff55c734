/** An entry of the audit on its way from the service where something happened to the chain it belongs to. */
import { z } from 'zod';
import { isSecretName, MASKED } from './transform.ts';

/** Size of an entry's `data` as JSON. */
export const MAX_AUDIT_DATA_BYTES = 16 * 1024;
/** Entries that are sent at once. */
export const MAX_AUDIT_POST = 200;

/** Who did it. `operator`: an operator acted, whatever identity was declared. */
export const AuditSubject = z.strictObject({
  userId: z.string().optional(),
  agentId: z.string().optional(),
  verified: z.boolean(),
  operator: z.literal(true).optional(),
});
export type AuditSubject = z.output<typeof AuditSubject>;

/** `at` in ms since the epoch; `workspace` null = the node's own chain. The `id` is what makes an entry unique. */
export const PostedAuditEntry = z.strictObject({
  id: z.string().min(1).max(100),
  at: z.number(),
  event: z.string(),
  workspace: z.string().nullable(),
  subject: AuditSubject,
  data: z.record(z.string(), z.unknown()),
});
export type PostedAuditEntry = z.output<typeof PostedAuditEntry>;

export const AuditPost = z.strictObject({ entries: z.array(PostedAuditEntry).max(MAX_AUDIT_POST) });

type Fields = Readonly<Record<string, unknown>>;

/** Raw tokens and keys are of no use to an auditor; ids of what they belong to are. */
const RAW_TOKEN = /svc_[0-9a-f]{64}/g;
const ID = /^[a-z]{2,4}_[0-9a-f]{32}$/;

/** A copy as the audit may keep it: without secrets, of a size that fits, of text that a database takes. */
export function auditableData(data: Fields): Fields {
  return fittedAuditData(withoutSecrets(data));
}

/** Every secret masked, at any depth: fields by their name, raw tokens wherever they stand. */
function withoutSecrets(data: Fields): Fields {
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [
      auditableText(name),
      isSecretField(name, value) ? MASKED : auditableValue(value),
    ]),
  );
}

/** A text without raw tokens and without what a database cannot keep. */
export function auditableText(text: string): string {
  const masked = text.includes('svc_') ? text.replaceAll(RAW_TOKEN, MASKED) : text;
  return masked.replaceAll('\0', '\uFFFD').toWellFormed();
}

/** `data`, or how large it was when it is larger than an entry may hold. */
function fittedAuditData(data: Fields): Fields {
  const bytes = Buffer.byteLength(JSON.stringify(data));
  return bytes <= MAX_AUDIT_DATA_BYTES ? data : { omittedBytes: bytes };
}

function isSecretField(name: string, value: unknown): boolean {
  if (!isSecretName(name) || value === null || value === undefined) return false;
  return !(typeof value === 'string' && ID.test(value));
}

function auditableValue(value: unknown): unknown {
  if (typeof value === 'string') return auditableText(value);
  if (Array.isArray(value)) return value.map(auditableValue);
  return typeof value === 'object' && value !== null ? withoutSecrets(value as Fields) : value;
}
