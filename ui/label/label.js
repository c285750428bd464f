"use strict";
const form = document.getElementById("label");
if (form) {
  const total = Number(form.dataset.seconds);
  const start = performance.now();
  const timer = document.getElementById("timer");
  const left = document.getElementById("left");
  const bar = document.getElementById("bar");
  const comment = document.getElementById("comment");
  const elapsed = () => (performance.now() - start) / 1000;
  timer.hidden = false;
  const tick = () => {
    const rest = Math.max(0, total - elapsed());
    left.textContent = String(Math.ceil(rest));
    bar.style.transform = `scaleX(${rest / total})`;
    timer.classList.toggle("over", rest === 0);
    if (rest > 0) setTimeout(tick, 100);
  };
  tick();
  form.addEventListener("submit", () => {
    document.getElementById("seconds").value = elapsed().toFixed(1);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (document.activeElement === comment) {
      if (event.key === "Escape") comment.blur();
      return;
    }
    const button = form.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
    if (button) {
      event.preventDefault();
      form.requestSubmit(button);
      return;
    }
    if (event.key === "c") {
      event.preventDefault();
      comment.focus();
    }
    const link = { ArrowLeft: "previous", ArrowRight: "following" }[event.key];
    if (link && document.getElementById(link)) document.getElementById(link).click();
  });
}
