// Copies what the package has in common with the rest of the repository.

import { copyFileSync } from "node:fs";

copyFileSync(new URL("../../race.tmLanguage.json", import.meta.url), new URL("race.tmLanguage.json", import.meta.url));
copyFileSync(new URL("../../../LICENSE", import.meta.url), new URL("LICENSE", import.meta.url));
