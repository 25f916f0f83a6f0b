"""The quiz of a visitor alone, in Chromium: in the app, and in the page with the model."""

from playwright.sync_api import Page, expect
from support.browser import expect_accessible

from headlight.classroom import PER_FORM
from headlight.lessons.gain import quiz_result, read_answers
from headlight.lessons.quiz_bank import bank, fill

TEXTS = bank()["phone"] | bank()["alone"]


def answer_all(page: Page, choice: int) -> None:
    for number in range(1, PER_FORM + 1):
        words = fill(TEXTS["place"], number=number, of=PER_FORM)
        expect(page.locator(".quiz .place")).to_contain_text(words)
        page.locator(".quiz .options button").nth(choice).click()
    expect(page.locator(".quiz .options button")).to_have_count(0)


def test_a_visitor_alone_answers_both_quizzes_and_saves_the_result(page, address):
    page.goto(f"{address}/lessons?lessons=quiz")
    quiz = page.locator(".quiz")
    quiz.get_by_role("button", name=TEXTS["before"]).click()
    answer_all(page, 0)
    page.reload()
    quiz.get_by_role("button", name=TEXTS["after"]).click()
    answer_all(page, 3)
    expect_accessible(page)
    with page.expect_download() as saving:
        quiz.get_by_role("button", name=TEXTS["save"]).click()
    table = saving.value.path().read_bytes()
    result = quiz_result(read_answers([table, table]))
    assert (result.students, len(result.chosen)) == (2, 2 * PER_FORM)
    assert f"{round(PER_FORM * result.total.after)} of {PER_FORM} after" in quiz.inner_text()
