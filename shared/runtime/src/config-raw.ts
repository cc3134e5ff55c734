/** Text of the environment and of the files that it names, before anything is read from it. */
import { X509Certificate } from 'node:crypto';

/** Keys that count beside the one in use: containers always have their files, which are empty while there is none. */
const MAY_BE_EMPTY = /_(PREVIOUS|ALSO)$/;

/**
 * The text of a variable: its own, or that of the file which `<name>_FILE` names. An empty variable counts as absent; an
 * empty file is a secret that somebody lost.
 */
export function rawValue(
  name: string,
  environment: Readonly<Record<string, string | undefined>>,
  readFile: (path: string) => string,
  problems: string[],
): string | undefined {
  const direct = environment[name];
  if (direct !== undefined && direct !== '') return direct;
  const file = environment[`${name}_FILE`];
  if (file === undefined || file === '') return undefined;
  try {
    const value = readFile(file).trim();
    if (value !== '') return value;
    if (!MAY_BE_EMPTY.test(name)) problems.push(`${name}_FILE: ${file} is empty`);
    return undefined;
  } catch {
    problems.push(`${name}_FILE: cannot be read`);
    return undefined;
  }
}

/** Why a file of certificates would not do; null when it does. */
export function certificatesProblem(path: string, readFile: (path: string) => string): string | null {
  let pem: string;
  try {
    pem = readFile(path);
  } catch {
    return `${path} cannot be read`;
  }
  return isCertificate(pem) ? null : `${path} holds no certificate in PEM form`;
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}
