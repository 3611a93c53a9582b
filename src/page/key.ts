/** The field for the API key, at the top of the page. */
import { byId } from './dom.ts';

const field = byId('key', HTMLInputElement);
const note = byId('key-note', HTMLElement);
const initialNote = note.textContent;

/** Makes the field forget what was wrong with the key as soon as it changes. */
export function initKey(): void {
  field.addEventListener('input', () => {
    field.ariaInvalid = null;
    note.textContent = initialNote;
  });
  // Chromium wants a password field to be in a form. This form has nothing to send.
  field.form!.addEventListener('submit', (event) => event.preventDefault());
}

/** Returns the API key without white space around it. The reader may have pasted the header or its value. */
export function apiKey(): string {
  return field.value.trim().replace(/^(authorization:\s*)?bearer\s+/i, '');
}

/** Moves the focus to the field, and says there what is wrong with the key. */
export function refuseKey(message: string): void {
  field.ariaInvalid = 'true';
  note.textContent = message;
  // The field is always visible. Without this option, browsers would still scroll to it.
  field.focus({ preventScroll: true });
}
