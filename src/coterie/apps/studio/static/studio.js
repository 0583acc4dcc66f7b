// What a browser does beyond plain forms: progress, sliders, dropping, copying. Every page can be read without it.
"use strict";

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

/* Put the part of another page that changes in place of ours; focus stays where it was. */
async function swap(answer) {
  const text = await answer.text();
  const page = new DOMParser().parseFromString(text, "text/html");
  const [theirs, ours] = [page.getElementById("live"), document.getElementById("live")];
  if (!answer.ok || !theirs || !ours) {
    tell(page);
    return;
  }
  const focused = document.activeElement && document.activeElement.id;
  ours.replaceWith(document.adoptNode(theirs));
  document.title = page.title;
  if (focused && document.getElementById(focused)) document.getElementById(focused).focus({ preventScroll: true });
  prepare(document.getElementById("live"));
}

/* Show what a page says that has no part of ours, such as an error: to ask for it again would lose the sentence. */
function tell(page) {
  const [theirs, ours] = [page.querySelector("main") || page.body, document.querySelector("main")];
  ours.replaceChildren(...document.adoptNode(theirs).childNodes);
  document.title = page.title;
  ours.tabIndex = -1;
  ours.focus();
}

const GONE = "The studio does not answer. If it was closed, start it again.";

/* Follow a job until it is over, then fetch the page again. */
async function follow(section) {
  const bar = section.querySelector("[data-bar]");
  if (!bar) return;
  while (section.isConnected) {
    await wait(document.hidden ? 3000 : 700);
    let job;
    try {
      const answer = await fetch(section.dataset.job);
      if (!answer.ok) throw new Error();
      job = await answer.json();
    } catch {
      const times = section.querySelector("[data-times]");
      if (times) times.textContent = GONE;
      continue;
    }
    if (!section.isConnected) return;
    if (["done", "failed", "stopped"].includes(job.state)) {
      if (section.closest("[data-reload]")) location.reload(); // it becomes another page
      else await swap(await fetch(location.href));
      return;
    }
    const waiting = job.state === "waiting";
    section.querySelector("[data-stage]").textContent = waiting ? `Waiting: ${job.before} before it` : job.stage || "Starting";
    if (job.share !== null && !waiting) bar.value = job.share;
    else bar.removeAttribute("value");
    section.querySelector("[data-times]").textContent = waiting ? "" : job.seconds + (job.left ? `, about ${job.left} left` : "");
  }
}

/* Send a form without leaving the page. */
async function send(form) {
  form.querySelector(".gone")?.remove();
  let answer;
  try {
    answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
  } catch {
    const says = document.createElement("p");
    says.className = "warning gone";
    says.setAttribute("role", "alert");
    says.textContent = GONE;
    form.append(says);
    return;
  }
  if (answer.redirected) history.replaceState(null, "", answer.url);
  await swap(answer);
}

function slide(range) {
  const box = document.getElementById(range.dataset.slides);
  range.hidden = false;
  range.addEventListener("input", () => { box.value = range.value; });
  box.addEventListener("input", () => { range.value = box.value; });
}

/* A setting that does something only with some value of another one is hidden with the others. */
function depend(field) {
  const other = document.getElementById(field.dataset.with);
  const update = () => { field.hidden = (other.value === field.dataset.value) === ("not" in field.dataset); };
  other.addEventListener("input", update);
  update();
}

function auto(form) {
  let timer;
  form.addEventListener("change", () => {
    clearTimeout(timer);
    timer = setTimeout(() => form.requestSubmit(), 250);
  });
}

function drop(form) {
  const input = form.querySelector("input[type=file]");
  const zone = form.querySelector(".drop");
  input.addEventListener("change", () => {
    const bytes = [...input.files].reduce((sum, file) => sum + file.size, 0);
    const most = Number(form.dataset.limit);
    input.setCustomValidity(bytes > most ? `At most ${Math.floor(most / 1048576)} MB. Type where the file is instead.` : "");
    input.reportValidity();
  });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    zone.addEventListener(kind, (event) => {
      event.preventDefault();
      zone.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files.length) {
        input.files = event.dataTransfer.files;
        input.dispatchEvent(new Event("change"));
      }
    });
  }
}

function copy(button) {
  if (!navigator.clipboard) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
}

function prepare(root) {
  root.querySelectorAll("[data-job]").forEach(follow);
  root.querySelectorAll("[data-slides]").forEach(slide);
  root.querySelectorAll("[data-with]").forEach(depend);
  root.querySelectorAll("[data-drop]").forEach(drop);
  root.querySelectorAll("[data-copy]").forEach(copy);
  root.querySelectorAll("form[data-live]").forEach((form) => {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(form);
    });
  });
  root.querySelectorAll("form[data-auto]").forEach(auto);
}

prepare(document);
