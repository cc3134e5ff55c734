/** The forms that values of the environment have. */
import { isIP } from 'node:net';
import { PlanName } from '@svc/contract/registry.ts';
import { z } from 'zod';

export const text = z.string().min(1);
export const list = text.transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);
export const onOff = z
  .enum(['on', 'off', 'true', 'false', '1', '0'])
  .transform((value) => ['on', 'true', '1'].includes(value));
export const count = (minimum: number, maximum: number) => z.coerce.number().int().min(minimum).max(maximum);
export const port = count(0, 65_535);
export const brainName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/);
export const plan = z.enum(['free', 'pro', 'enterprise']);
const VISIBLE = [/^[\x21-\x7e]+$/, 'must be visible ASCII'] as const;
export const apiKey = z
  .string()
  .min(16)
  .max(512)
  .regex(...VISIBLE);

/** What this process shows others in a header: the end of a line that came along from a file is none of it. */
export const bearer = z
  .string()
  .trim()
  .regex(...VISIBLE);

const MIN_AUDIT_KEY = 32;
const BYTES_FORM = 'base64:';
const isBase64 = (text: string): boolean => /^[A-Za-z0-9+/]+={0,2}$/.test(text);

/** Text, or the bytes of a key that was made, in base64. */
export const auditKey = z
  .string()
  .min(MIN_AUDIT_KEY)
  .max(512)
  .refine(
    (key) =>
      !key.startsWith(BYTES_FORM) ||
      (isBase64(key.slice(BYTES_FORM.length)) && auditKeyBytes(key).length >= MIN_AUDIT_KEY),
    `must hold ${MIN_AUDIT_KEY} bytes or more after ${BYTES_FORM}`,
  );

/** What an audit key signs with. */
export function auditKeyBytes(key: string): Buffer {
  return key.startsWith(BYTES_FORM) ? Buffer.from(key.slice(BYTES_FORM.length), 'base64') : Buffer.from(key, 'utf8');
}

const MAX_HOPS = 16;

/** `free=60,pro=600`: requests per minute of each plan. */
export const planLimits = text.transform((value, context) => {
  const limits: Record<string, number> = {};
  for (const item of value.split(',')) {
    const [name = '', figure = ''] = item.split('=');
    const perMinute = Number(figure);
    if (!PlanName.safeParse(name.trim()).success || !Number.isSafeInteger(perMinute) || perMinute < 1) {
      context.addIssue({ code: 'custom', message: 'must look like free=60,pro=600,enterprise=6000' });
      return z.NEVER;
    }
    limits[name.trim()] = perMinute;
  }
  return limits;
});

/** A number of hops, or addresses and networks in CIDR form. */
export const trustedProxies = text.transform((value, context): number | readonly string[] => {
  if (/^\d+$/.test(value) && Number(value) >= 1 && Number(value) <= MAX_HOPS) return Number(value);
  const networks = value.split(',').map((item) => item.trim());
  if (networks.every(isNetwork)) return networks;
  context.addIssue({ code: 'custom', message: 'must be a number of hops, or networks like 10.0.0.0/8,fd00::/8' });
  return z.NEVER;
});

function isNetwork(item: string): boolean {
  const [address = '', bits, ...rest] = item.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}
