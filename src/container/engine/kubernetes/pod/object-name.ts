/** Names of containers and volumes as Kubernetes takes them: lower-case letters, digits and "-". */

/** Injective: what is not allowed, and a "-" that would look like that, becomes "-x" and two hex digits. */
export function objectName(name: string): string {
  return name.replace(/[^a-z0-9-]|-(?=x)/g, (one) => `-x${one.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

export function nameOfObject(object: string): string {
  return object.replace(/-x([0-9a-f]{2})/g, (_all, code: string) => String.fromCharCode(parseInt(code, 16)));
}
