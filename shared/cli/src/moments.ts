/** Times and durations for a person. */

const SECOND_MS = 1000;
const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', SECOND_MS],
] as const;

/** The two largest units: `3 h 5 min`. */
export function duration(ms: number): string {
  let rest = Math.max(0, ms);
  if (rest < SECOND_MS) return `${Math.round(rest)} ms`;
  const parts: string[] = [];
  for (const [unit, unitMs] of UNITS) {
    const count = Math.floor(rest / unitMs);
    rest -= count * unitMs;
    if (count > 0) parts.push(`${count} ${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(' ');
}

const UNIT_MS: Readonly<Record<string, number>> = { s: SECOND_MS, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90s`, `15m`, `12h`, `30d` in ms; null for anything else. */
export function parseDuration(text: string): number | null {
  const { count, unit } = /^(?<count>\d{1,6})(?<unit>[smhd])$/.exec(text)?.groups ?? {};
  const unitMs = unit === undefined ? undefined : UNIT_MS[unit];
  return unitMs === undefined ? null : Number(count) * unitMs;
}

/** Local time, as it is read aloud and sorted. */
export function moment(at: number | string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return String(at);
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}
